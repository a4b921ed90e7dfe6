"""What the tests of strange arguments share."""


def is_told(f, args, place, strange):
    """`f(*args)` works; with its argument at `place` (a number or a name) replaced, most of `strange` raise, and with the package's
    error."""
    f(*args)
    raised = 0
    for name, x in strange.items():
        given, named = (args, {place: x}) if isinstance(place, str) else ((*args[:place], x, *args[place + 1 :]), {})
        try:
            f(*given, **named)
        except Exception as error:
            assert "Allowed: " in str(error), (name, repr(error))
            raised += 1
    assert raised > len(strange) // 2
