"""Draws are those of jax.random 0.10 (threefry2x32, partitionable) for key(42): integers exactly, floats to rounding of the last digits."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.random as R

K = R.key(42)
LOGITS = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]], np.float32))

# fmt: off
KNOWN = [
    ('R.key_data(R.split(K,3))', [[1832780943, 270669613], [64467757, 2916123636], [2465931498, 255383827]]),
    ('R.key_data(R.split(K,(2,2)))', [[[1832780943, 270669613], [64467757, 2916123636]], [[2465931498, 255383827], [3134548294, 894150801]]]),
    ('R.key_data(R.fold_in(K,7))', [2547012911, 1371500959]),
    ("R.bits(K,(5,),'uint8')", [162, 217, 249, 215, 21]),
    ("R.bits(K,(5,),'uint16')", [5026, 12505, 63993, 49623, 29461]),
    ("R.bits(K,(5,),'uint32')", [2098992034, 2919706841, 2646866425, 2409546199, 1935504149]),
    ('R.uniform(K,(5,))', [0.488709569, 0.679797173, 0.616271496, 0.561016083, 0.450644612]),
    ("R.uniform(K,(5,),'float16')", [0.076171875, 0.190429688, 0.975585938, 0.756835938, 0.44921875]),
    ("R.uniform(K,(5,),'bfloat16')", [0.6328125, 0.84375, 0.96875, 0.8359375, 0.078125]),
    ('R.normal(K,(5,))', [-0.028304616, 0.467131853, 0.295702964, 0.153545916, -0.124032818]),
    ('R.uniform(K,(2,3),minval=-1.0,maxval=3.0)', [[0.954838276, 1.71918869, 1.46508598], [1.24406433, 0.802578449, 1.34346342]]),
    ('R.uniform(K,(2,3),minval=np.arange(3.0),maxval=10.0)', [[4.88709545, 7.11817455, 6.93017197], [5.61016083, 5.05580139, 6.68692684]]),
    ("R.normal(K,(3,),'complex64')", [0.05368746072053909, 0.4283398389816284, -0.34389618039131165, 0.5650094747543335, 0.9123944640159607, -0.6427084803581238]),
    ('R.truncated_normal(K,-1.0,2.0,(5,))', [0.147700056, 0.568444908, 0.421025515, 0.299970001, 0.0691138208]),
    ('R.truncated_normal(K,np.array([-1.0,0.0]),np.array([0.5,3.0]))', [-0.204341695, 0.990278184]),
    ('R.randint(K,(6,),0,10)', [4, 4, 1, 9, 9, 9]),
    ("R.randint(K,(6,),0,256,'uint8')", [196, 18, 183, 193, 141, 107]),
    ("R.randint(K,(6,),-100,100,'int8')", [-56, 14, -29, 69, 9, -81]),
    ("R.randint(K,(6,),-5,20,'int16')", [14, 9, 16, 14, 4, 14]),
    ("R.randint(K,(6,),3,1<<20,'uint32')", [546739, 120294, 232818, 772445, 575455, 1025829]),
    ('R.randint(K,(6,),-(2**31),2**31-1)', [977810628, 1236381714, -1367112521, -1019495231, -1671904627, -1277190805]),
    ("R.randint(K,(2,3),np.array([0,5,10]),np.array([[3],[20]]),'int32')", [[0, 5, 10], [9, 19, 19]]),
    ('R.randint(K,(3,),5,2)', [5, 5, 5]),
    ('R.bernoulli(K,0.3,(8,))', [False, False, False, False, False, False, True, False]),
    ("R.bernoulli(K,0.3,(8,),mode='high')", [False, False, False, False, False, False, True, False]),
    ('R.rademacher(K,(6,))', [1, -1, -1, -1, 1, -1]),
    ('R.permutation(K,10)', [7, 4, 2, 5, 3, 6, 8, 9, 0, 1]),
    ('R.permutation(K,np.arange(12.0).reshape(4,3))', [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0], [0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
    ('R.permutation(K,np.arange(12.0).reshape(4,3),axis=1,independent=True)', [[2.0, 0.0, 1.0], [4.0, 5.0, 3.0], [7.0, 6.0, 8.0], [10.0, 11.0, 9.0]]),
    ('R.choice(K,10,(4,))', [4, 4, 1, 9]),
    ('R.choice(K,10,(4,),replace=False)', [7, 4, 2, 5]),
    ("R.choice(K,4,(6,),p=np.array([0.1,0.2,0.3,0.4],'float32'))", [2, 2, 2, 2, 2, 2]),
    ("R.choice(K,4,(3,),replace=False,p=np.array([0.1,0.2,0.3,0.4],'float32'))", [3, 2, 1]),
    ('R.choice(K,np.arange(12.0).reshape(4,3),(2,),axis=1)', [[0.0, 0.0], [3.0, 3.0], [6.0, 6.0], [9.0, 9.0]]),
    ('R.choice(K,np.arange(12.0).reshape(4,3),(2,),axis=0,replace=False)', [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]),
    ('R.categorical(K,LOGITS)', [2, 0]),
    ('R.categorical(K,LOGITS,shape=(4,2))', [[2, 0], [2, 0], [1, 0], [1, 2]]),
    ('R.categorical(K,LOGITS,axis=0)', [1, 0, 0]),
    ('R.categorical(K,LOGITS,shape=(2,2),replace=False)', [[2, 0], [1, 1]]),
    ('R.exponential(K,(5,))', [0.670817494, 1.13880062, 0.957819998, 0.823292494, 0.599009693]),
    ('R.laplace(K,(5,))', [0.0228396524, -0.445653558, -0.264672905, -0.130145386, 0.103929006]),
    ('R.logistic(K,(5,))', [-0.0451694131, 0.752839804, 0.47375232, 0.245286763, -0.198066533]),
    ('R.cauchy(K,(5,))', [-0.0354846306, 0.63372612, 0.382440567, 0.194070697, -0.156309009]),
    ('R.gumbel(K,(5,))', [0.334093392, 0.952019453, 0.725530565, 0.54817152, 0.226804957]),
    ('R.maxwell(K,(5,))', [0.553582489, 0.293285072, 1.70860302, 1.50845778, 1.80605257]),
    ("R.gumbel(K,(5,),mode='high')", [0.399257988, -0.129975617, 0.0430954136, 0.194443733, 0.5124771]),
    ("R.gumbel(K,(5,),mode='highest')", [0.399257809, -0.129975826, 0.0430951007, 0.19444339, 0.512477279]),
    ('R.lognormal(K,0.5,(3,))', [0.985947371, 1.26309609, 1.15934074]),
    ('R.pareto(K,2.0,(3,))', [1.39851189, 1.76720691, 1.61431384]),
    ('R.rayleigh(K,2.0,(3,))', [2.3933022, 1.75718141, 1.96787739]),
    ('R.weibull_min(K,2.0,1.5,(3,))', [1.53261447, 2.18103075, 1.94335699]),
    ('R.double_sided_maxwell(K,1.0,2.0,(4,))', [-1.76204348, -0.351377964, 5.44404268, 2.35109997]),
    ('R.wald(K,1.5,(4,))', [1.64612019, 2.69834661, 0.351881027, 0.801997662]),
    ('R.triangular(K,0.0,0.3,1.0,(4,))', [0.40174979, 0.526563644, 0.481724083, 0.445663691]),
    ('R.geometric(K,0.3,(6,))', [3, 2, 2, 2, 3, 2]),
    ('R.gamma(K,2.5,(4,))', [4.37807512, 1.50078642, 4.19411135, 1.56431353]),
    ('R.gamma(K,np.float32(0.3),(4,))', [0.436247438, 0.320098668, 1.03846991, 0.00432459451]),
    ('R.loggamma(K,np.float32(0.001),(4,))', [-537.923401, -162.282089, -260.291229, -1473.3197]),
    ('R.beta(K,0.5,3.0,(4,))', [0.18927522, 0.0680347309, 0.389232457, 0.0061848606]),
    ("R.dirichlet(K,np.array([0.5,1.0,2.0],'float32'),(2,))", [[0.206803158, 0.0686100796, 0.724586785], [0.0257050786, 0.163031712, 0.811263263]]),
    ('R.chisquare(K,3.0,(4,))', [5.87071419, 1.39785099, 5.55942345, 1.48298955]),
    ('R.f(K,3.0,5.0,(4,))', [0.728363514, 0.356925488, 0.235607371, 0.155631766]),
    ('R.t(K,3.0,(4,))', [0.0898747817, -1.73574674, 2.35201907, 1.16351914]),
    ('R.generalized_normal(K,1.5,(4,))', [-0.878237545, -0.206162453, 1.16047096, 0.102029689]),
    ('R.ball(K,3,1.5,(2,))', [[0.343667954, 0.0519931912, 0.0179101564], [0.376013011, -0.0718014091, 0.280901611]]),
    ('R.poisson(K,3.5,(8,))', [6, 2, 2, 2, 5, 3, 3, 3]),
    ('R.poisson(K,35.0,(8,))', [39, 40, 29, 31, 26, 29, 32, 26]),
    ("R.poisson(K,np.array([0.0,2.0,9.5,10.0,1e5],'float32'))", [0, 1, 13, 8, 99549]),
    ('R.binomial(K,10,0.3,(8,))', [2.0, 5.0, 2.0, 2.0, 4.0, 3.0, 2.0, 3.0]),
    ('R.binomial(K,100,0.3,(8,))', [33.0, 34.0, 25.0, 27.0, 23.0, 26.0, 27.0, 23.0]),
    ("R.binomial(K,np.array([7.0,500.0],'float32'),np.array([[0.2],[0.9]],'float32'))", [[1.0, 108.0], [5.0, 455.0]]),
    ("R.multinomial(K,20.0,np.array([0.2,0.3,0.5],'float32'))", [4.0, 4.0, 12.0]),
    ("R.multinomial(K,1000.0,np.array([0.2,0.3,0.5],'float32'),shape=(2,3))", [[197.0, 285.0, 518.0], [179.0, 316.0, 505.0]]),
]
# fmt: on


@pytest.mark.parametrize("call,expected", KNOWN, ids=[c for c, _ in KNOWN])
def test_known(call, expected):
    got = np.asarray(eval(call))
    expected = np.asarray(expected)
    if got.dtype.kind == "c":
        got = got.view(np.float32)
    assert got.shape == expected.shape
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got.astype(np.float64), expected, rtol=3e-6 if got.dtype.itemsize >= 4 else 1e-3)


@pytest.mark.parametrize(
    "call", [c for c, _ in KNOWN if "normal" in c or "uniform" in c or "randint(K,(6" in c or "permutation" in c]
)
def test_compiled_draws_are_the_same(call):
    got = fg.jit(lambda k: eval(call, {"R": R, "np": np, "K": k}))(K)
    np.testing.assert_allclose(np.asarray(got).astype(np.complex128), np.asarray(eval(call)).astype(np.complex128), rtol=3e-6)


def test_threefry_vectors():
    # Random123's known answers for threefry2x32 with 20 rounds: key and counter all zeros, all ones.
    assert R.key_data(R.fold_in(R.wrap_key_data(np.zeros(2, np.uint32)), 0)).tolist() == [0x6B200159, 0x99BA4EFE]


@pytest.mark.parametrize(
    "seed,words",
    [
        (0, [0, 0]),
        (1, [0, 1]),
        (-1, [0, 4294967295]),
        (2**31, [0, 2147483648]),
        (2**32 - 1, [0, 4294967295]),
        (-(2**31) - 1, [4294967295, 2147483647]),
        (2**40, [256, 0]),
        (2**40 + 7, [256, 7]),
        (np.int8(-1), [0, 4294967295]),
        (np.uint8(200), [0, 200]),
    ],
)
def test_seeds(seed, words):
    assert R.PRNGKey(seed).tolist() == words
    assert R.key_data(R.key(seed)).tolist() == words
    assert fg.jit(R.PRNGKey)(np.asarray(seed, np.int64)).tolist() == words
    assert R.PRNGKey(np.asarray(seed)).tolist() == words


def test_seeds_of_64_bits_differ():
    seeds = [0, 2**32, 2**40, 2**63, -(2**63) + 1, np.uint64(2**63 + 5)]
    assert len({tuple(R.PRNGKey(s).tolist()) for s in seeds}) == len(seeds)
    assert R.PRNGKey(np.array(2**63 + 5, np.uint64)).tolist() == [2**31, 5]


@pytest.mark.parametrize("seed", [1.5, np.float32(2), True, np.array(1.0), "a", None, [1]])
def test_seeds_are_integers(seed):
    with pytest.raises(TypeError, match=r"(?s)random\.key: got .* for .*seed"):
        R.key(seed)


def test_seeds_with_wide_floats():
    with fg.config.override(default_float="float64"):
        assert R.PRNGKey(-1).tolist() == [4294967295, 4294967295] and R.PRNGKey(2**40 + 7).tolist() == [256, 7]
        assert R.uniform(K).dtype == np.float64


def test_raw_keys():
    raw = R.PRNGKey(42)
    assert raw.dtype == np.uint32 and R.split(raw, 3).shape == (3, 2)
    np.testing.assert_array_equal(np.asarray(R.normal(raw, (3,))), np.asarray(R.normal(K, (3,))))
    np.testing.assert_array_equal(np.asarray(R.split(raw)), np.asarray(R.key_data(R.split(K))))
    assert R.key_impl(K) == "threefry2x32" and R.key_dtype() == K.dtype and R.clone(K) is K
    assert str(K.dtype) and "key<fry>" in repr(K)


def test_vmap_over_keys():
    keys = R.split(K, 4)
    rows = fg.vmap(lambda k: R.normal(k, (3,)))(keys)
    np.testing.assert_array_equal(np.asarray(rows), np.stack([np.asarray(R.normal(keys[i], (3,))) for i in range(4)]))


def test_moments():
    x = np.asarray(R.normal(K, (100_000,)))
    assert abs(x.mean()) < 0.01 and abs(x.std() - 1) < 0.01
    u = np.asarray(R.uniform(K, (100_000,), minval=2.0, maxval=5.0))
    assert u.min() >= 2 and u.max() < 5 and abs(u.mean() - 3.5) < 0.01
    t = np.asarray(R.truncated_normal(K, -1.0, 0.5, (10_000,)))
    assert t.min() > -1 and t.max() < 0.5
    assert np.isfinite(np.asarray(R.normal(K, (3, 0)))).all()


def test_errors():
    with pytest.raises(TypeError, match=r"random\.key\(0\)"):
        R.normal(0, (3,))
    with pytest.raises(ValueError, match="vmap"):
        R.normal(R.split(K), (3,))
    with pytest.raises(TypeError, match="floating"):
        R.uniform(K, (3,), "int32")
    with pytest.raises(TypeError, match="integer dtype"):
        R.randint(K, (3,), 0, 5, "float32")
    with pytest.raises(ValueError, match="replace"):
        R.choice(K, 3, (5,), replace=False)
    with pytest.raises(OverflowError):
        R.key(2**64)
    with pytest.raises(ValueError, match="impl"):
        R.key(0, impl="rbg")
    with pytest.raises(ValueError, match="shape"):
        R.uniform(K, (2,), minval=np.zeros(3))


def test_keys_are_equal_where_both_words_are():
    keys = R.split(K, 3)
    assert bool(K == R.key(42)) and not bool(K != R.key(42)) and not bool(K == R.key(41))
    for equal in (lambda x, y: x == y, fg.jit(lambda x, y: x == y)):
        np.testing.assert_array_equal(equal(keys, keys[1]), [False, True, False])
    np.testing.assert_array_equal(fg.vmap(lambda k: k != keys[0])(keys), [False, True, True])
