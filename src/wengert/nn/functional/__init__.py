"""`wg.nn.functional`: layers and losses as functions of arrays, by the names and with the arguments of PyTorch."""

from wengert.core.namespaces import lazy_names, name_functions

LAZY = lazy_names(
    "nn.functional",
    (
        "activations: celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_softmax logsigmoid "
        "mish prelu relu relu6 selu sigmoid silu softmax softmin softplus softshrink softsign tanh tanhshrink "
        "threshold",
        "affine: bilinear embedding embedding_bag linear",
        "attention: scaled_dot_product_attention",
        "classification: binary_cross_entropy binary_cross_entropy_with_logits cross_entropy hinge_embedding_loss "
        "multi_margin_loss nll_loss one_hot soft_margin_loss",
        "convolution: conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
        "ctc: ctc_loss",
        "distances: cosine_embedding_loss cosine_similarity huber_loss kl_div l1_loss margin_ranking_loss mse_loss "
        "pairwise_distance smooth_l1_loss triplet_margin_loss",
        "dropping: alpha_dropout dropout dropout1d dropout2d dropout3d",
        "likelihoods: gaussian_nll_loss poisson_nll_loss",
        "normalization: batch_norm group_norm instance_norm layer_norm normalize rms_norm",
        "pooling: adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
        "adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d",
        "resampling: fold interpolate pad pixel_shuffle pixel_unshuffle unfold",
    ),
)

__all__ = sorted(LAZY)

__getattr__, __dir__ = name_functions(globals())
