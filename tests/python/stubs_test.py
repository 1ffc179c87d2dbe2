"""Stubs say what the package has: the same names, parameters and defaults, each with its type."""

import ast
import os
import re
import unittest

from rudder import _rudder

package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "rudder")


def tree(name):
    with open(os.path.join(package, name), encoding="utf-8") as file:
        return ast.parse(file.read())


def offered(module="__init__.py"):
    """Where each name of a module's __all__ is defined: its node, by name."""
    of = tree(module)
    names = next(ast.literal_eval(node.value) for node in of.body
                 if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    sources = {alias.name: node.module for node in of.body if isinstance(node, ast.ImportFrom) and node.level and node.module
               for alias in node.names}
    return {name: next(node for node in tree(sources[name] + ".py").body if getattr(node, "name", "") == name)
            for name in names if name in sources}


def defined(of):
    return {node.name: node for node in of.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def parameters(function):
    """As they are written, without types: names, kinds and defaults."""
    bare = ast.parse(ast.unparse(function)).body[0].args
    for one in [*bare.posonlyargs, *bare.args, *bare.kwonlyargs, bare.vararg, bare.kwarg]:
        if one is not None:
            one.annotation = None
    return ast.unparse(bare)


def decorators(function):
    return [ast.unparse(one) for one in function.decorator_list]


def untyped(function):
    """Parameters without a type."""
    args = function.args
    given = [one for one in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg] if one is not None]
    lacking = [one.arg for one in given if one.annotation is None and one.arg not in ("self", "cls")]
    return lacking + (["return"] if function.returns is None else [])


class StubsTest(unittest.TestCase):
    def same(self, stub, function):
        self.assertEqual(parameters(stub), parameters(function), function.name)
        self.assertEqual(decorators(stub), decorators(function), function.name)

    def compared(self, stub, node):
        if isinstance(node, ast.FunctionDef):
            self.same(stub, node)
            return
        methods, stubs = defined(node), defined(stub)
        for name, method in methods.items():
            if name == "__init__" or (not name.startswith("_") and name not in ("on_epoch",)):
                self.assertIn(name, stubs, node.name)
        for name, one in stubs.items():
            self.assertIn(name, methods, node.name)
            self.same(one, methods[name])

    def test_the_package_is_as_its_stub_says(self):
        stubs, there = defined(tree("__init__.pyi")), offered()
        self.assertEqual(set(stubs), set(there))
        for name, node in there.items():
            with self.subTest(name):
                self.compared(stubs[name], node)

    def test_stores_are_as_their_stub_says(self):
        stubs, there = defined(tree("pyg.pyi")), defined(tree("stores.py"))
        self.assertEqual(set(stubs), {"FeatureStore", "GraphStore"})
        for name, stub in stubs.items():
            with self.subTest(name):
                self.compared(stub, there[name])

    def test_everything_has_a_type(self):
        for file in ("__init__.pyi", "pyg.pyi", "_rudder.pyi"):
            functions = [node for node in ast.walk(tree(file)) if isinstance(node, ast.FunctionDef)]
            self.assertTrue(functions)
            for function in functions:
                self.assertEqual(untyped(function), [], f"{file}: {function.name}")

    def test_attributes_of_classes_are_named(self):
        for name in ("Dataset", "Run", "Answer", "Error", "Batch"):
            node, stub = offered()[name], defined(tree("__init__.pyi"))[name]
            made = next(one for one in node.body if getattr(one, "name", "") == "__init__")
            sets = {target.attr for one in ast.walk(made) if isinstance(one, ast.Assign) for target in one.targets
                    if isinstance(target, ast.Attribute) and not target.attr.startswith("_")}
            named = {one.target.id for one in stub.body if isinstance(one, ast.AnnAssign)}
            slots = {word for one in node.body if isinstance(one, ast.Assign) and one.targets[0].id in ("_always", "_sometimes")
                     for word in ast.literal_eval(one.value)}
            self.assertEqual(named, sets | slots, name)

    def test_the_module_is_as_its_stub_says(self):
        def told(function):
            signature = function.__nb_signature__[0][0]
            while re.search(r"\[[^\[\]]*\]", signature):  # what stands there need not be Python
                signature = re.sub(r"\[[^\[\]]*\]", "", signature)
            return named(ast.parse(signature + ": ...").body[0].args)

        def named(args):
            return [None] * len(args.posonlyargs) + [one.arg for one in args.args]

        stub = tree("_rudder.pyi")
        functions = defined(stub)
        there = {name for name in dir(_rudder) if not name.startswith("__")}
        self.assertEqual(there, set(functions) | {"version"})
        for name, node in functions.items():
            thing = getattr(_rudder, name)
            if isinstance(node, ast.FunctionDef):
                self.assertEqual(named(node.args), told(thing), name)
                continue
            methods = defined(node)
            self.assertEqual({one for one in vars(thing) if not one.startswith("__")} | {"__init__"}, set(methods), name)
            for method, one in methods.items():
                if not decorators(one):
                    self.assertEqual(named(one.args), told(getattr(thing, method)), f"{name}.{method}")


if __name__ == "__main__":
    unittest.main()
