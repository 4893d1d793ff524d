"""Networks of the four papers: one class for each network, and nothing of training.

All are called as ``model(x, tap)``. `claimbook.protocol` says what a tap is; without
one a network may take the shortcuts of ``fast``. Whether tokens are in the vocabulary
is not checked: to look would wait for the device. The last matrix among a network's
parameters is that of its last layer, unless that is tied to an embedding.
"""

from claimbook.protocol import Recorder
from grokbook.models import fast
from grokbook.models.convnets import VGG11, ResNet18
from grokbook.models.mlp import MLP, FreeFeatures
from grokbook.models.transformer import Transformer, decoder, gpt2, without_norms
from grokbook.models.vit import ViT
