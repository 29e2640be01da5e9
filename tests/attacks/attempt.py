def attempt(what, attack):
    """Prints how an attack went: the exception that stopped it, or what it gained."""
    try:
        gain = attack()
    except BaseException as error:
        print(what, "->", type(error).__name__)
    else:
        print(what, "-> GAINED", repr(gain)[:200])
