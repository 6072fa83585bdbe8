"""The public names: one list, each importable, documented, and mentioned to users."""

import ast
import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.project import DEMO

import mtparse

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("name", mtparse.__all__)
def test_a_public_name_is_there_and_documented(name):
    found = getattr(mtparse, name)
    assert found.__doc__
    assert found.__module__ == mtparse._HOMES[name]
    assert name in dir(mtparse)


def test_the_stub_is_the_list():
    """What type checkers read is what the package gives."""
    tree = ast.parse(Path(mtparse.__file__).with_suffix(".pyi").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = [(alias.name, alias.asname) for node in imports for alias in node.names]
    assert all(name == shown for name, shown in names)
    assert sorted(name for name, _ in names) == mtparse.__all__


EXCEPTIONS = {
    mtparse.ConfigError: ("a.yaml: no",),
    mtparse.ConllError: ("a.conll", 3, "no"),
    mtparse.InputWarning: ("tags",),
    mtparse.ModelError: ("a.model: no",),
    mtparse.MtparseError: ("no",),
    mtparse.NoTreeError: ("none",),
    mtparse.NumericsError: (4, 2),
}


def test_the_list_of_exceptions_is_whole():
    public = [getattr(mtparse, name) for name in mtparse.__all__]
    assert set(EXCEPTIONS) == {p for p in public if isinstance(p, type) and issubclass(p, Exception)}


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_exceptions_can_be_sent_to_other_processes(kind):
    """One that cannot be read again leaves a pool of processes waiting for ever."""
    error = kind(*EXCEPTIONS[kind])
    for back in (*(pickle.loads(pickle.dumps(error, p)) for p in range(6)), copy.copy(error)):
        assert type(back) is kind
        assert (str(back), back.args, vars(back)) == (str(error), error.args, vars(error))


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="module 'mtparse' has no attribute 'Parse'"):
        _ = mtparse.Parse


def test_the_import_alone_loads_nothing():
    code = f"import sys; sys.path.insert(0, {str(Path(mtparse.__file__).parents[1])!r}); import mtparse; "
    code += "sys.exit(bool({'numpy', 'numba', 'typing', 're'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-S", "-c", code], check=True)


def test_a_text_is_read_as_a_file_is():
    path = DEMO / "dunta" / "test.conll"
    text = path.read_text(encoding="utf-8")
    sentences = list(mtparse.parse_conll(text, heads="required"))
    assert [s.rows for s in sentences] == [s.rows for s in mtparse.read_conll(path)]
    with pytest.raises(mtparse.ConllError, match="<stream>:2: sentence 1: "):
        list(mtparse.parse_conll("1\ta\t_\tN\tN\t_\t0\tr\t_\t_\n2\n"))


def test_heads_of_words_and_head_arrays():
    heads = mtparse.head_array([2, 0, 2])
    np.testing.assert_array_equal(heads, [-1, 2, 0, 2])
    assert mtparse.word_heads(heads) == [2, 0, 2]
    assert mtparse.word_heads([-1]) == []
    with pytest.raises(ValueError, match="begins with -1"):
        mtparse.word_heads([2, 0, 2])
    (sentence,) = mtparse.parse_conll("1\ta\t_\tN\tN\t_\t2\tr\t_\t_\n2\tb\t_\tN\tN\t_\t0\tr\t_\t_\n")
    sentence.heads = mtparse.word_heads(mtparse.projectivize(mtparse.head_array(sentence.heads)))
    assert sentence.heads == [2, 0]
