"""The demo: `python -m funcgrad.demo` trains a classifier of handwritten digits, says what it cost, and draws `demo.png`.

`model.py` holds all that is funcgrad in it, as plain functions to copy; `digits.py` is the data, `picture.py` the picture,
`train.py` the loop and what is printed.
"""
