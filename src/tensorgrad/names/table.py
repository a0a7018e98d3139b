"""Which rule an operation has. Pointwise operations need no entry: names of operands are lined up from the right.

`TABLE`: functions and methods by their public name (`linalg.norm` a room has its own). An in-place form has the rule
of its function; what has no entry computes by its primitives, which refuse names they do not understand. `PRIMITIVES`: the
rules of those, where it is not their kind that says.
"""

from tensorgrad.names import rules as r
from tensorgrad.names import rules_indexing as i
from tensorgrad.names import rules_products as p

KINDS = [
    (r.keep, """
        cumsum cumprod cummax cummin logcumsumexp softmax log_softmax softmin gumbel_softmax sort argsort msort topk flip fliplr
        flipud roll tril triu clone contiguous to type type_as float double half bfloat16 int long short char byte bool
        cfloat cdouble cpu
        detach_copy alias_copy dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout feature_dropout
        normalize layer_norm batch_norm group_norm instance_norm rms_norm local_response_norm glu pad constant_pad_nd
        interpolate upsample upsample_bilinear upsample_nearest avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d
        adaptive_avg_pool2d adaptive_avg_pool3d lp_pool1d lp_pool2d lp_pool3d max_pool1d max_pool2d max_pool3d
        max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool1d adaptive_max_pool2d
        adaptive_max_pool3d adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
        adaptive_max_pool3d_with_indices fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices
        fractional_max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d channel_shuffle native_channel_shuffle
        pixel_shuffle pixel_unshuffle index_fill index_add index_copy index_reduce index_put index_select narrow
        narrow_copy slice_copy scatter scatter_add scatter_reduce put renorm diff cumulative_trapezoid
        bernoulli binomial poisson uniform exponential cauchy geometric log_normal random zero fill zeros_like
        ones_like empty_like full_like rand_like randn_like randint_like prelu bucketize isin conj conj_physical
        resolve_conj resolve_neg real imag diagonal_scatter select_scatter slice_scatter as_subclass matrix_power matrix_exp
        cholesky linalg.cholesky linalg.matrix_power linalg.matrix_exp view_dtype requires_grad relu relu6 elu selu celu
        leaky_relu rrelu silu mish hardswish hardsigmoid hardtanh threshold softplus softsign tanhshrink logit
        nan_to_num angle sgn apply fftshift ifftshift detach frexp
        slice _upsample_bilinear2d_aa _upsample_bicubic2d_aa linalg.householder_product grid_sample grid_sampler_2d grid_sampler_3d
        fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn hfftn ihfftn
    """),
    (r.merged, """
        normal where lerp addcmul addcdiv isclose float_power copy map masked_fill clamp clip clamp_min clamp_max ldexp xlogy
        complex polar fmax fmin maximum minimum cross linalg.cross logical_xor remainder pow rsub true_divide
    """),
    (r.scattered, "masked_scatter"),
    (r.with_statistics, """
        native_batch_norm native_layer_norm native_group_norm _native_batch_norm_legit _batch_norm_with_update
    """),
    (r.chosen, "where"),
    (r.drawn, "multinomial"),
    (r.copied, "tensor"),
    (r.same_names, "equal"),
    (r.resized, "resize"),
    (r.plain, """
        size stride data_ptr storage storage_offset untyped_storage is_contiguous is_set_to numpy tolist item allclose
        is_nonzero numel __array__ __dlpack__ __contains__ is_tensor new_zeros new_ones new_empty new_full new_tensor
        one_number
    """),
    (r.dropped, """
        sum mean prod amax amin argmax argmin any all norm std var nansum nanmean logsumexp count_nonzero linalg.norm
        linalg.vector_norm trapezoid trapz
    """),
    (r.dropped_each, "max min median nanmedian mode kthvalue aminmax std_mean var_mean"),
    (r.quantiles, "quantile nanquantile"),
    (r.row_reduced, "cosine_similarity pairwise_distance linalg.vecdot"),
    (r.scalar, "dist trace vdot"),
    (r.selected, "select select_copy"),
    (r.unbound, "unbind unbind_copy"),
    (r.squeezed, "squeeze squeeze_copy"),
    (r.diagonal, "diagonal linalg.diagonal diagonal_copy"),
    (r.unsqueezed, "unsqueeze unsqueeze_copy"),
    (r.split, """
        split chunk tensor_split hsplit vsplit dsplit unsafe_split unsafe_chunk split_with_sizes unsafe_split_with_sizes gradient
    """),
    (r.by_probe, "permute transpose swapaxes swapdims movedim moveaxis t adjoint T mT H mH permute_copy transpose_copy t_copy"),
    (r.rotated, "rot90"),
    (r.expanded, "expand broadcast_to repeat tile expand_copy"),
    (r.expanded_as, "expand_as"),
    (r.each_merged, "broadcast_tensors"),
    (r.joined, "cat concat concatenate"),
    (r.stacked, "stack"),
    (r.widened, "atleast_1d atleast_2d atleast_3d"),
    (r.piled, "hstack vstack dstack row_stack column_stack"),
    (r.reshaped, "view reshape view_as reshape_as view_copy"),
    (r.flattened, "flatten"),
    (r.unflattened, "unflatten"),
    (r.one_more, "unfold unfold_copy one_hot linalg.vander view_as_real view_as_real_copy"),
    (r.one_less, "view_as_complex view_as_complex_copy"),
    (r.flat_or_kept, "repeat_interleave"),
    (r.gathered, "gather take_along_dim"),
    (r.grid, "meshgrid"),
    (r.like_index, "take"),
    (r.searched, "searchsorted"),
    (r.picked, "masked_select"),
    (r.fresh, """
        nonzero nonzero_static argwhere unique unique_consecutive histc histogram histogramdd bincount ravel diagflat
        combinations cartesian_prod diag as_strided
    """),
    (p.contracted, "matmul mm bmm mv dot linalg.matmul __matmul__ __rmatmul__"),
    (p.contracted_plus, "addmm addmv baddbmm addbmm"),
    (p.contracted_all, "chain_matmul linalg.multi_dot"),
    (p.outer, "outer ger"),
    (p.outer_plus, "addr"),
    (p.inner, "inner"),
    (p.tensordot, "tensordot"),
    (p.distances, "cdist"),
    (p.layer, "linear"),
    (p.two_layer, "bilinear"),
    (p.convolved, "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d"),
    (p.looked_up, "embedding"),
    (p.bags, "embedding_bag"),
    (p.recurrent, "lstm gru rnn_tanh rnn_relu"),
    (p.many_heads, "multi_head_attention_forward"),
    (p.aligned_loss, "ctc_loss"),
    (p.blocks, "nn.functional.unfold fold"),
    (r.on_diagonals, "diag_embed"),
    (p.attended, "scaled_dot_product_attention"),
    (p.turned, "inverse pinverse linalg.inv linalg.pinv"),
    (p.matrix_reduced, "det logdet linalg.det linalg.cond linalg.matrix_rank"),
    (p.matrix_reduced_each, "slogdet linalg.slogdet"),
    (p.matrix_normed, "linalg.matrix_norm"),
    (p.solved, "linalg.solve linalg.solve_triangular"),
    (p.with_info(p.turned), "linalg.inv_ex"),
    (p.with_info(r.keep), "linalg.cholesky_ex"),
    (p.with_info(p.solved), "linalg.solve_ex"),
    (p.singular, "svd linalg.svd"),
    (p.factors, "linalg.lu_factor linalg.lu_factor_ex linalg.ldl_factor linalg.ldl_factor_ex geqrf"),
    (p.lower_upper, "linalg.lu"),
    (p.spectrum, "linalg.svdvals linalg.eigvals linalg.eigvalsh"),
    (p.eigen, "linalg.eig linalg.eigh"),
    (p.orthogonal, "qr linalg.qr"),
    (i.indexed, "__getitem__"),
    (i.assigned, "__setitem__"),
    (r.per_element, """
        mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits poisson_nll_loss
        soft_margin_loss hinge_embedding_loss margin_ranking_loss gaussian_nll_loss
    """),
    (r.per_sample, "cross_entropy nll_loss"),
    (r.per_row, """
        multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss cosine_embedding_loss triplet_margin_loss
        triplet_margin_with_distance_loss
    """),
    (r.refuse, """
        pdist as_strided_ lu_unpack _chunk_cat set as_strided_copy kron block_diag stft istft cov corrcoef
        lu lu_factor lu_solve triangular_solve ormqr orgqr conv_tbc convolution cholesky_inverse cholesky_solve linalg.lstsq
        linalg.lu_solve linalg.tensorinv linalg.tensorsolve linear_cross_entropy segment_reduce _segment_reduce
        linalg.ldl_solve as_strided_scatter
    """),
]  # fmt: skip

TABLE = {name: rule for rule, names in KINDS for name in names.split()}

DIMS = (
    "dim",
    "dims",
    "dim0",
    "dim1",
    "dim2",
    "start_dim",
    "end_dim",
    "source",
    "destination",
    "dimension",
    "axis",
    "outdim",
)

NAMED_ALIKE = """
    matmul mm mv dot cat stack clone contiguous fill expand index_fill masked_fill unbind split addmm addmv baddbmm addbmm addr
    tril triu dropout linear real imag conj copy
"""
PRIMITIVES = {name: TABLE[name] for name in NAMED_ALIKE.split()} | {"linear_half": TABLE["linear"]}
PRIMITIVES |= dict.fromkeys(("to_copy", "alias", "masked_fill.number", "index_fill.number", "bernoulli_like"), r.keep)


def rule_of(name, room=""):
    """The rule of a public function or method, or None."""
    found = TABLE.get(f"{room}.{name}") if room else None
    return found or TABLE.get(name)
