# SPDX-License-Identifier: Apache-2.0
"""Prints the byte code of many modules and where their sources have loops, for loops_of_code_test.

    file PATH
    loop FIRST LAST COPIES MUST          lines of a loop's head; MUST: it certainly goes round
    code NAME CODE LIVE JUMPS            byte code as written, as it runs now (or -), `dis`'s own
                                         backward jumps (target:jump:line of the target, ...)
"""

import ast
import dis
import importlib
import os
import sys
import types

NAMES = """argparse asyncio.base_events asyncio.tasks concurrent.futures.process dataclasses difflib
doctest email._header_value_parser json.decoder json.encoder mailbox pickle shutil subprocess tarfile
textwrap tokenize""".split()
LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Try, ast.With, ast.AsyncWith)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def loops_of(tree):
    """(first line, last line, copies, certainly goes round) of each loop's head."""
    finals, unsure = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            unsure.add(id(node.body[0]))  # a loop at another's very beginning has the same head
        if isinstance(node, ast.If) and any(isinstance(one, ast.Constant) and not one.value
                                            for one in ast.walk(node.test)):
            unsure.update(id(one) for one in ast.walk(node))  # `if 0 and ...` is left out
        for inner in getattr(node, "finalbody", []):
            finals.update(id(one) for one in ast.walk(inner))
    for node in ast.walk(tree):
        # What `finally` does is written out for each way into it.
        copies = 9 if id(node) in finals else 1
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            inner = [one for part in node.body for one in ast.walk(part)]
            must = id(node) not in unsure and not any(isinstance(one, LEAVES) for one in inner)
            if isinstance(node, ast.While):
                last = node.body[0].lineno
                must = must and not isinstance(node.test, ast.Constant)
            else:
                last = max(node.iter.end_lineno, node.target.end_lineno)
            yield node.lineno, last, copies, must
        elif isinstance(node, COMPREHENSIONS):
            yield node.lineno, node.end_lineno, 9 * len(node.generators), False


def codes(code):
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from codes(one)


def jumps(code):
    """target:jump:line of the target"""
    starts = dict(dis.findlinestarts(code))
    for one in dis.get_instructions(code):
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            if "NO_INTERRUPT" not in one.opname and one.argval <= one.offset:
                line = max((start, line or 0) for start, line in starts.items()
                           if start <= one.argval)[1]
                yield f"{one.argval}:{one.offset}:{line}"


def tell(code):
    live = getattr(code, "_co_code_adaptive", b"")
    print("code", code.co_name.replace(" ", "_"), code.co_code.hex(), live.hex() or "-",
          ",".join(jumps(code)) or "-")


def use():
    """Makes some code run often enough to be specialised."""
    import json
    import textwrap
    import tokenize
    text = json.dumps([{"a": [1.5, "x", None] * 5}] * 20, indent=1)
    encoder = json.encoder.JSONEncoder(indent=2)
    for _ in range(20):
        "".join(encoder.iterencode(json.loads(text)))
        textwrap.wrap(text[:500])
    with open(textwrap.__file__, encoding="utf-8") as source:
        list(tokenize.generate_tokens(source.readline))


def instrument(module):
    """Asks for jumps and branches of all its functions, as a coverage tool of 3.12 does."""
    monitoring = sys.monitoring
    monitoring.use_tool_id(2, "loops")
    events = monitoring.events
    for code in module_codes(module):
        monitoring.set_local_events(2, code, events.JUMP | events.BRANCH | events.CALL)


def module_codes(module):
    """Code objects in use, not another compilation of the same source."""
    for thing in list(vars(module).values()):
        for one in [thing, *(vars(thing).values() if isinstance(thing, type) else [])]:
            if isinstance(one, types.FunctionType) and one.__code__.co_filename == module.__file__:
                yield from codes(one.__code__)


def main():
    modules = []
    for name in NAMES:
        try:
            modules.append(importlib.import_module(name))
        except ImportError:
            pass
    use()
    if hasattr(sys, "monitoring"):
        instrument(importlib.import_module("difflib"))
    for module in modules:
        path = module.__file__
        with open(path, encoding="utf-8") as source:
            text = source.read()
        print("file", path)
        for first, last, copies, must in loops_of(ast.parse(text)):
            print("loop", first, last, copies, int(must))
        done = set()
        for code in module_codes(module):
            if id(code) not in done:
                tell(code)
            done.add(id(code))
        for code in codes(compile(text, path, "exec")):
            tell(code)
    made = "def f(it):\n x = 0\n for i in it:\n" + "  x = x + i * 3\n" * 3000 + "\n return x\n"
    print("file", "made")
    print("loop", 3, 3, 1, 1)
    for code in codes(compile(made, "made", "exec")):
        tell(code)
    return 0


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    sys.exit(main())
