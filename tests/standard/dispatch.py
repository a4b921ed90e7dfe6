"""Calls of scikit-learn and SciPy with their array API switched on, compared with the same calls on NumPy arrays.

Run as a program of its own (the switch is read when SciPy is imported): `dispatch.py sklearn` or `dispatch.py scipy` prints a JSON object:
for each call "same" (the values of NumPy, as arrays of funcgrad or Python's numbers), the text of ImmutableArrayError, or what went wrong.
"""

import importlib
import json
import os
import sys
import warnings

import numpy as np

# x, y: float64[40,5], float64[40]; c, c2: classes 0 and 1; p: probabilities; k: a kernel matrix; v, w: float64[20]
SKLEARN = """
decomposition.PCA(3, svd_solver='full').fit(x).transform(x)
decomposition.PCA(3, svd_solver='full', whiten=True).fit_transform(x)
decomposition.PCA(3, svd_solver='full').fit(x).inverse_transform(x[:, :3])
decomposition.PCA(3, svd_solver='randomized', random_state=0).fit(x).explained_variance_
linear_model.LinearRegression().fit(x, y).predict(x)
linear_model.RidgeCV([0.1, 1.0, 10.0]).fit(x, y).predict(x)
linear_model.PoissonRegressor(solver='lbfgs').fit(x, abs(y)).predict(x)
preprocessing.KernelCenterer().fit(k).transform(k)
preprocessing.LabelEncoder().fit_transform(c)
model_selection.cross_val_predict(linear_model.RidgeCV(), x, y, cv=3)
model_selection.train_test_split(x, y, random_state=0)
metrics.accuracy_score(c, c2)
metrics.balanced_accuracy_score(c, c2)
metrics.confusion_matrix(c, c2)
metrics.hamming_loss(c, c2)
metrics.matthews_corrcoef(c, c2)
metrics.multilabel_confusion_matrix(c, c2)
metrics.zero_one_loss(c, c2)
metrics.class_likelihood_ratios(c, c2)
metrics.brier_score_loss(c, p)
metrics.roc_auc_score(c, p)
metrics.average_precision_score(c, p)
metrics.roc_curve(c, p)
metrics.precision_recall_curve(c, p)
metrics.det_curve(c, p)
metrics.max_error(y, y + 1)
metrics.mean_absolute_error(y, y + p)
metrics.mean_absolute_percentage_error(y, y + p)
metrics.mean_gamma_deviance(abs(y) + 1, p)
metrics.mean_pinball_loss(y, y + p)
metrics.mean_poisson_deviance(abs(y) + 1, p)
metrics.mean_squared_error(y, y + p)
metrics.mean_squared_log_error(abs(y), p)
metrics.mean_tweedie_deviance(abs(y), p)
metrics.median_absolute_error(y, y + p)
metrics.root_mean_squared_error(y, y + p)
metrics.root_mean_squared_log_error(abs(y), p)
metrics.d2_tweedie_score(abs(y), p)
metrics.cluster.mutual_info_score(c, c2)
metrics.pairwise.additive_chi2_kernel(abs(x))
metrics.pairwise.chi2_kernel(abs(x))
metrics.pairwise.euclidean_distances(x, x[:5, :])
metrics.pairwise.linear_kernel(x)
metrics.pairwise.paired_euclidean_distances(x, -x)
metrics.pairwise.polynomial_kernel(x)
metrics.pairwise.rbf_kernel(x, -x)
metrics.pairwise.sigmoid_kernel(x)
pipeline.make_pipeline(decomposition.PCA(3, svd_solver='full'), linear_model.RidgeCV()).fit(x, y).predict(x)
# these store into arrays
! decomposition.PCA(3, svd_solver='covariance_eigh').fit(x).transform(x)
! linear_model.Ridge(solver='svd').fit(x, y).predict(x)
! linear_model.LogisticRegression().fit(x, c).predict_proba(x)
! discriminant_analysis.LinearDiscriminantAnalysis(solver='svd').fit(x, c).predict(x)
! naive_bayes.GaussianNB().fit(x, c).predict(x)
! mixture.GaussianMixture(2, init_params='random', random_state=0).fit(x).predict(x)
! preprocessing.StandardScaler().fit_transform(x)
! preprocessing.MinMaxScaler().fit_transform(x)
! preprocessing.PolynomialFeatures().fit_transform(x)
! metrics.f1_score(c, c2)
! metrics.r2_score(y, y + p)
! metrics.pairwise.cosine_similarity(x)
"""
SCIPY = """
special.ndtr(v)
special.ndtri(abs(v) / 4)
special.log_ndtr(v)
special.erf(v)
special.i0e(v)
special.expit(v)
special.logit(abs(v) / 4)
special.gammaln(abs(v))
special.psi(abs(v))
special.gammainc(abs(v), abs(w))
special.betaln(abs(v), abs(w))
special.xlogy(v, abs(w))
special.stdtrit(abs(v) + 1, abs(w) / 4)
special.softmax(x, axis=1)
special.entr(abs(v))
fft.fft(x)
fft.ifftn(x)
fft.irfft(fft.rfft(v))
fft.dct(x)
fft.dctn(x)
fft.dst(x)
fft.fftshift(v)
stats.moment(v, 3)
stats.skew(x, axis=1)
stats.kurtosis(x)
stats.gmean(abs(v))
stats.hmean(abs(v))
stats.pmean(abs(v), 2)
stats.sem(v)
stats.jarque_bera(v)
stats.circmean(v)
stats.circstd(v)
stats.entropy(abs(v))
stats.differential_entropy(v)
stats.ttest_1samp(v, 0.1).statistic
stats.ttest_ind(v, w).pvalue
stats.ttest_rel(v, w).pvalue
stats.chisquare(abs(v)).pvalue
stats.combine_pvalues(abs(v) / 4).statistic
stats.rankdata(v)
stats.directional_stats(x).mean_direction
signal.convolve(v, w)
signal.fftconvolve(v, w)
signal.oaconvolve(v, w)
signal.correlate(v, w)
signal.detrend(v)
signal.windows.hann(8, xp=xp)
signal.windows.kaiser(8, 3.0, xp=xp)
signal.vectorstrength(abs(v), 2.0)
ndimage.gaussian_filter(x, 1.0)
ndimage.sobel(x)
ndimage.zoom(x, 2)
cluster.vq.vq(x, x[:3, :])
cluster.hierarchy.linkage(x)
integrate.trapezoid(v)
integrate.cumulative_trapezoid(v)
optimize.rosen(v)
constants.convert_temperature(v, 'Celsius', 'Kelvin')
spatial.transform.Rotation.from_rotvec(x[:, :3]).apply(x[:, :3])
interpolate.BSpline(xp.asarray([0.0, 0, 0, 1, 1, 1]), xp.asarray([1.0, 2, 3]), 2)(abs(v) / 3)
# these store into arrays
! special.logsumexp(x)
! stats.zscore(v)
! stats.pearsonr(v, w).statistic
! signal.hilbert(v)
! integrate.cumulative_simpson(v)
! optimize.rosen_der(v)
"""


def calls(text):
    return [line for line in text.split("\n") if line and line[0] != "#"]


def _flat(out):
    return [y for item in out for y in _flat(item)] if isinstance(out, (list, tuple)) else [out]


def _outcome(call, modules, arrays, numpy_arrays, names):
    want = eval(call, {**modules, "xp": np, **numpy_arrays})
    try:
        got = eval(call, {**modules, **names, **arrays})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for a, b in zip(_flat(got), _flat(want), strict=True):
        if not isinstance(a, (names["Array"], float, int)):
            return f"an answer is of type {type(a).__name__}"
        # float32 is what the libraries' own constants are in.
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-4, atol=1e-4)
    return "same"


def main(library):
    os.environ["SCIPY_ARRAY_API"] = "1"
    warnings.simplefilter("ignore")
    text = SKLEARN if library == "sklearn" else SCIPY
    rooms = {call.lstrip("! ").partition(".")[0] for call in calls(text)}
    modules = {room: importlib.import_module(f"{library}.{room}") for room in rooms}
    for more in ("cluster.vq", "cluster.hierarchy", "signal.windows", "spatial.transform") if library == "scipy" else ():
        importlib.import_module(f"scipy.{more}")
    if library == "sklearn":
        importlib.import_module("sklearn").set_config(array_api_dispatch=True)
    xp, fg = importlib.import_module("funcgrad.numpy"), importlib.import_module("funcgrad")

    rng = np.random.default_rng(0)
    x, v, w = rng.normal(size=(40, 5)), rng.normal(size=20), rng.normal(size=20)
    y = x @ np.arange(5.0) + rng.normal(size=40)
    c = (y > 0).astype(int)
    numpy_arrays = {
        "x": x, "y": y, "c": c, "c2": np.roll(c, 1), "p": np.clip(0.5 + 0.05 * y + 0.2 * rng.normal(size=40), 0.01, 0.99),
        "k": x @ x.T, "v": v, "w": w,
    }  # fmt: skip
    arrays = {name: xp.asarray(a) for name, a in numpy_arrays.items()}
    found = {}
    for call in calls(text):
        try:
            found[call] = _outcome(call.lstrip("! "), modules, arrays, numpy_arrays, {"xp": xp, "Array": fg.Array})
        except Exception as error:
            found[call] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
