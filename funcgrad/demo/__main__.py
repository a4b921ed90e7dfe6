"""`python -m funcgrad.demo`."""

EXTRAS = ("sklearn", "matplotlib", "tqdm")

try:
    from funcgrad.demo.train import main
except ModuleNotFoundError as error:
    if error.name is None or error.name.split(".")[0] not in EXTRAS:
        raise
    raise SystemExit(
        f"funcgrad.demo: the module {error.name} is not installed.\n"
        "  Allowed: the demo runs where scikit-learn, matplotlib and tqdm are installed.\n"
        '  Try: python -m pip install "funcgrad[demo]"   (from a checkout: python -m pip install ".[demo]")'
    ) from None

if __name__ == "__main__":
    main()
