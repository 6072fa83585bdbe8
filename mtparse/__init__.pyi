from mtparse.config.run import load_config as load_config
from mtparse.errors import ConfigError as ConfigError
from mtparse.errors import ConllError as ConllError
from mtparse.errors import InputWarning as InputWarning
from mtparse.errors import ModelError as ModelError
from mtparse.errors import MtparseError as MtparseError
from mtparse.errors import NoTreeError as NoTreeError
from mtparse.errors import NumericsError as NumericsError
from mtparse.evaluation.attachment import Scores as Scores
from mtparse.evaluation.attachment import evaluate as evaluate
from mtparse.experiment.run import train as train
from mtparse.inference.family import TreeFamily as TreeFamily
from mtparse.model.model_file import Model as Model
from mtparse.model.parser import Parser as Parser
from mtparse.model.warmup import warmup as warmup
from mtparse.treebank.conll import parse_conll as parse_conll
from mtparse.treebank.conll import read_conll as read_conll
from mtparse.treebank.conll import write_conll as write_conll
from mtparse.treebank.projectivize import projectivize as projectivize
from mtparse.treebank.sentence import Sentence as Sentence
from mtparse.treebank.trees import head_array as head_array
from mtparse.treebank.trees import word_heads as word_heads

__version__: str
