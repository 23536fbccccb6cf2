"""Lines of PyTorch code that `test_torch_lines.py` runs on PyTorch and on the layer, from the same text.

The last part of a line, after the last `; `, is its result. `python tests/compat/torch_lines.py` stores PyTorch's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).parent / "results" / "torch_lines.json"

ELEMENTWISE = """
x.abs()|torch.abs(x)|x.neg()|torch.exp(x)|x.exp()|p.log()|torch.log(p)|p.log2()|p.log10()|p.log1p()|x.expm1()|torch.exp2(x)
p.sqrt()|torch.sqrt(p)|p.rsqrt()|torch.rsqrt(p)|x.square()|torch.square(x)|x.reciprocal()|x.sin()|torch.sin(x)|x.cos()|x.tan()
u.asin()|u.acos()|x.atan()|torch.atan2(x, p)|x.sinh()|x.cosh()|x.tanh()|torch.tanh(x)|x.asinh()|(1 + p).acosh()|u.atanh()
x.sigmoid()|torch.sigmoid(x)|x.relu()|torch.relu(x)|torch.softmax(x, dim=1)|x.softmax(-1)|x.log_softmax(dim=0)|x.softmax(dim=0)
torch.log_softmax(x, 1)|x.sign()|torch.sign(x)|x.detach().sgn()|x.floor()|x.ceil()|x.round()|torch.round(x, decimals=1)|x.trunc()|x.frac()
x.clamp(-0.5, 0.5)|torch.clamp(x, min=0)|x.clamp(max=1.0)|torch.clamp(x, -1, 1)|x.clip(0, 1)|x.clamp_min(0.2)|x.clamp(min=v)
torch.erf(x)|x.erf()|x.erfc()|u.erfinv()|p.lgamma()|p.digamma()|torch.polygamma(2, p)|torch.lgamma(p)|x.sinc()|x.i0()|x.logit(0.1)
x + y|x - y|x * y|x / p|x ** 2|p ** x|p ** 0.5|2 ** x|x @ c[0]|3 - x|1 / p|-x|x % 0.7|x.detach() // 0.7|x.fmod(0.7)|torch.remainder(x, 0.7)
x.add(y)|x.add(y, alpha=2)|torch.add(x, y, alpha=0.5)|x.sub(y)|x.sub(y, alpha=3)|x.mul(y)|x.div(p)|x.div(p, rounding_mode="floor")
x.pow(3)|torch.pow(p, x)|x.div(p, rounding_mode="trunc")|torch.mul(x, 2)|torch.div(x, 2)|torch.true_divide(x, 2)|torch.rsub(x, 1)
torch.maximum(x, y)|torch.minimum(x, y)|torch.max(x, y)|torch.min(x, y)|torch.fmax(x, y)|torch.fmin(x, y)|torch.hypot(x, y)
torch.lerp(x, y, 0.3)|x.lerp(y, u)|torch.addcmul(x, y, p, value=0.5)|torch.addcdiv(x, y, p, value=2)|torch.logaddexp(x, y)
torch.xlogy(x, p)|torch.where(t, x, y)|torch.where(x > 0, x, 0.0)|torch.where(t, 1.0, x)|x.where(t, y)|torch.copysign(x, y)
torch.where(t)|torch.nan_to_num(x.detach() / x.detach().trunc())|torch.heaviside(x.detach(), n.detach())|torch.float_power(p, 2)|torch.deg2rad(x)|torch.rad2deg(x)
x == y|x > 0|x.gt(0)|x.lt(y)|x.ge(0)|x.le(0)|x.eq(x)|x.ne(y)|torch.eq(x, y)|x.isnan()|x.isinf()|x.isfinite()|torch.isnan(x)
t & ~t|t | t|t ^ t|torch.logical_and(t, x > 0)|torch.logical_or(t, x > 0)|torch.logical_not(t)|t.logical_xor(x > 0)|~t
k & 1|k | 1|k << 1|k >> 1|torch.bitwise_and(k, 3)|torch.gcd(k, k)|torch.lcm(k, k + 1)|torch.isclose(x, x + 1e-9)|torch.allclose(x, x)
torch.equal(x, x)|torch.equal(x, y)|torch.isin(k, torch.tensor([1, 2]))|z.real|z.imag|z.abs()|z.angle()|z.conj() * 1|torch.view_as_real(z)
torch.complex(x, y)|torch.polar(p, x)|torch.view_as_complex(b[..., :2])|torch.mvlgamma(p + 2, 2)|torch.ldexp(x, k)|torch.signbit(x)
"""

REDUCTIONS = """
x.sum()|x.sum(0)|x.sum(dim=1)|x.sum(dim=(0, 1))|x.sum(1, keepdim=True)|torch.sum(x, dim=0)|x.sum(axis=1)|k.sum()|t.sum()|t.sum(0)
x.mean()|x.mean(0)|x.mean(dim=1, keepdim=True)|torch.mean(x, 1)|x.mean((0, 1))|x.prod()|x.prod(1)|x.std()|x.std(0)|x.std(dim=1)
x.std(unbiased=False)|x.std(1, unbiased=False)|x.std(dim=1, correction=0)|x.var()|x.var(dim=0)|x.var(0, keepdim=True)|x.std(False)
torch.var(x, dim=1, unbiased=False)|torch.var_mean(x, dim=1)|torch.std_mean(x)|x.max()|x.min()|x.max(1)|x.max(dim=1)[0]
x.max(dim=0).values|x.max(dim=0).indices|x.min(dim=1, keepdim=True)|torch.max(x, 1)|torch.max(x, dim=1)[1]|x.amax(1)|x.amin(dim=(0, 1))
x.amax()|x.aminmax()|x.argmax()|x.argmax(1)|x.argmax(dim=1, keepdim=True)|x.argmin(0)|torch.argmax(x, dim=1)|t.all()|t.any()|t.any(1)
t.all(dim=0)|torch.any(x > 0)|torch.all(t, 1)|x.logsumexp(1)|torch.logsumexp(x, dim=(0, 1))|x.norm()|x.norm(dim=1)|x.norm(p=1)
torch.norm(x)|x.norm(2, 1)|x.norm(p=3, dim=0, keepdim=True)|torch.norm(x, p=float("inf"))|torch.dist(x, y)|x.cumsum(1)|x.cumprod(dim=1)
torch.cumsum(x, dim=0)|x.logcumsumexp(1)|x.cummax(1)|x.cummin(0)|x.sort()|x.sort(dim=0, descending=True)|torch.sort(v)|x.argsort(1)
x.argsort(dim=1, descending=True)|x.topk(2)|x.topk(2, dim=0, largest=False)|torch.topk(v, 3)|x.kthvalue(2)|x.median()|x.median(dim=1)
torch.median(v)|k.mode()|x.quantile(0.3)|torch.quantile(x, torch.tensor([0.2, 0.7], dtype=torch.float64), dim=1)|x.nansum()|x.nanmean()
x.count_nonzero()|torch.count_nonzero(t, 1)|x.diff()|torch.diff(x, dim=0)|torch.trapezoid(x)|torch.trapezoid(x, dx=0.1)|torch.cov(x)
torch.corrcoef(x)|torch.bincount(k.flatten())|torch.histc(x.detach(), 4, -2, 2)|torch.searchsorted(v.sort()[0].detach(), x.detach())
torch.bucketize(x.detach(), torch.tensor([0.0, 1.0], dtype=torch.float64))|k.unique()|torch.unique(k, return_counts=True)
torch.unique(k, return_inverse=True)|torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))|torch.msort(x)|torch.cumulative_trapezoid(x)
b.sum(-1)|b.sum((0, 2))|b.mean(dim=[1, 2])|b.amax((1, 2))|b.std(dim=(1, 2))|b.argmax(-1)|n.sum()|n.max()|f.mean()|f.std()
"""

SHAPES = """
x.view(4, 3)|x.view(-1)|x.view(2, -1)|x.reshape(2, 6)|x.reshape((6, 2))|x.flatten()|b.flatten(1)|b.flatten(0, 1)|x.ravel()
x.unsqueeze(0)|x.unsqueeze(-1)|x.unsqueeze(1).squeeze()|x.unsqueeze(1).squeeze(1)|x.squeeze(0)|x.t()|x.T|b.mT|b.transpose(1, 2)
b.permute(2, 0, 1)|b.permute((1, 0, 2))|torch.transpose(x, 0, 1)|torch.permute(b, (0, 2, 1))|b.movedim(0, -1)|b.swapaxes(0, 1)
v.expand(3, 4)|v.expand(3, -1)|v.unsqueeze(1).expand(-1, 2)|v.expand_as(x)|x.repeat(2, 1)|v.repeat(2)|v.repeat(2, 3)|x.tile(2)
x.repeat_interleave(2, dim=0)|v.repeat_interleave(3)|torch.repeat_interleave(v, torch.tensor([1, 2, 0, 1]))|x.roll(1, 0)|x.roll(1)
torch.roll(x, shifts=(1, 2), dims=(0, 1))|x.flip(0)|x.flip([0, 1])|torch.flip(x, dims=(1,))|x.fliplr()|x.flipud()|x.rot90()
torch.cat([x, y])|torch.cat((x, y), dim=1)|torch.stack([x, y])|torch.stack((v, w), dim=1)|torch.hstack([x, y])|torch.vstack([v, w])
torch.dstack([v, w])|torch.column_stack([v, w])|x.split(2)|x.split([1, 3], dim=1)|torch.split(v, 3)|x.chunk(2, dim=1)|torch.chunk(v, 3)
x.unbind()|torch.unbind(x, dim=1)|torch.tensor_split(v, 3)|x.narrow(1, 1, 2)|x.select(0, 1)|torch.meshgrid(v, w, indexing="ij")
torch.diag(v)|torch.diag(m)|m.diag()|m.diagonal()|torch.diag_embed(x)|torch.diagonal(b, dim1=1, dim2=2)|torch.diagflat(v)|m.trace()
torch.tril(m)|m.tril(-1)|m.triu(1)|torch.triu(m)|torch.block_diag(x, m)|torch.broadcast_to(v, (3, 4))|torch.atleast_2d(v)
x.unflatten(1, (2, 2))|x.unflatten(1, (-1, 2))|torch.broadcast_tensors(v, x)|x.unfold(1, 2, 1)|x.view_as(x)|x.reshape_as(x)|x.contiguous()
x.numel()|x.dim()|x.size()|x.size(0)|x.size(-1)|len(x)|x.ndim|x.nelement()|x.shape[0]|x.shape.numel()|torch.numel(x)|n.item()|v.tolist()
torch.broadcast_shapes((3, 1), (4,))|tuple(x.shape)|x.is_floating_point()|torch.is_tensor(x)|x.element_size()|x.stride()|b.mH|x.H|x.adjoint()
"""

INDEXING = """
x[0]|x[:, 1]|x[..., 0]|x[1:, ::2]|x[None]|x[:, None, :]|x[t]|x[x > 0]|x[[0, 2]]|x[torch.tensor([0, 2]), torch.tensor([1, 1])]
x[torch.arange(3), k[:, 0]]|x.gather(1, i)|torch.gather(x, 1, i)|x.gather(0, i % 3)|x.index_select(1, torch.tensor([0, 2]))
torch.index_select(x, 0, torch.tensor([2, 0]))|x.masked_fill(t, 0.0)|x.masked_fill(t, float("-inf"))|x.masked_select(t)
torch.zeros(3, 4, dtype=torch.float64).scatter(1, i, x[:, :2])|torch.zeros(3, 4, dtype=torch.float64).scatter(1, k[:, :1], 1.0)
torch.zeros(3, 4, dtype=torch.float64).scatter_add(1, k, x)|torch.zeros(4, dtype=torch.float64).index_add(0, torch.tensor([0, 0, 1]), v[:3])
y.scatter_reduce(1, k, x, reduce="sum")|y.scatter_reduce(1, k, x, "amax", include_self=False)|y.scatter_reduce(1, k, x, "mean")
torch.take(x, torch.tensor([0, 5]))|torch.take_along_dim(x, k, dim=1)|x.nonzero()|t.nonzero()|t.nonzero(as_tuple=True)|torch.argwhere(t)
x.index_fill(1, torch.tensor([0]), -1)|x.index_copy(0, torch.tensor([0]), y[:1])|x.masked_scatter(t, y)|x.index_put((torch.tensor([2, 0]),), y[:2])
torch.nonzero(t)|list(x)[1]|x[-1]|x[0, 0].item()|x[0][1]|x[:, -1:]|x[k[0]  % 3]|b[:, torch.tensor([0, 1]), 2]|b[0, :, torch.tensor([1, 3])]|b[0, ..., [1, 3]]|b[..., 0, [1, 2]]|b[1, None, t[0, :3]]
"""

PRODUCTS = """
torch.matmul(x, m)|x @ m|x.matmul(m)|x.mm(m)|torch.mm(x, m)|b.bmm(c)|torch.bmm(b, c)|b @ m|m.mv(v)|v.dot(w)|torch.dot(v, w)
torch.outer(v, w)|v.outer(w)|torch.ger(v, w)|torch.einsum("ij,jk->ik", x, m)|torch.einsum("bij,bjk->bik", b, c)|torch.einsum("ij->j", x)
torch.einsum("i,j", v, w)|torch.tensordot(x, m, dims=1)|torch.tensordot(x, y, dims=([0], [0]))|torch.addmm(y, x, m)|torch.addmm(y, x, m, beta=2, alpha=3)
torch.baddbmm(b, b, m.expand(2, 4, 4))|torch.kron(x, m)|torch.cross(x[:, :3], y[:, :3], dim=1)|torch.cdist(x, y)|torch.inner(v, w)
torch.cosine_similarity(x, y)|torch.cartesian_prod(v, w)|torch.vdot(v, w)|torch.chain_matmul(x, m, m)|torch.addmv(v, m, w)|torch.addr(m, v, w)
torch.linalg.inv(m)|torch.inverse(m)|torch.linalg.det(m)|torch.det(m)|torch.logdet(s)|torch.linalg.slogdet(m)|torch.linalg.solve(m, v)
torch.linalg.solve(m, x.T)|torch.linalg.cholesky(s)|torch.cholesky(s)|torch.linalg.eigvalsh(s)|torch.linalg.svdvals(x)|torch.linalg.norm(x)
torch.linalg.norm(x, dim=1)|torch.linalg.norm(m, 2)|torch.linalg.norm(m, "nuc")|torch.linalg.vector_norm(x, 3, dim=1)|torch.linalg.matrix_norm(m)
torch.linalg.matrix_norm(b, 1)|torch.linalg.pinv(x)|torch.linalg.matrix_exp(m)|torch.matrix_exp(m)|torch.linalg.matrix_power(m, 3)
torch.linalg.solve_triangular(m.tril(), x.T, upper=False)|torch.linalg.matrix_rank(m)|torch.linalg.lstsq(x.T, v).solution|torch.linalg.cond(m)
torch.linalg.multi_dot([x, m, m])|torch.linalg.eigh(s).eigenvalues|torch.linalg.qr(m)[1].abs()|torch.linalg.svd(x, full_matrices=False)[1]
torch.cholesky_solve(v[:, None], torch.linalg.cholesky(s))|torch.trace(m)|torch.linalg.vecdot(x, y)|torch.linalg.cross(x[:, :3], y[:, :3])
torch.linalg.eigvals(m).abs().sort()[0]|torch.linalg.vander(v)|torch.linalg.lu(m)[2]|torch.linalg.solve(m, x, left=False)|torch.linalg.tensorinv(m.reshape(4, 2, 2), 1)
torch.fft.fft(x)|torch.fft.ifft(z)|torch.fft.rfft(x)|torch.fft.irfft(z)|torch.fft.fft2(x)|torch.fft.fftn(x)|torch.fft.fftshift(x)
torch.fft.fftfreq(5, 0.1)|torch.fft.rfft(x, dim=0)|torch.fft.fft(x, n=6, norm="ortho")|torch.fft.rfft2(x)|torch.fft.irfft2(z)|torch.fft.ifftshift(x, dim=0)
torch.special.expit(x)|torch.special.gammaln(p)|torch.special.xlog1py(x, p)|torch.special.ndtr(x)|torch.special.log_ndtr(x)|torch.special.i1(x)
torch.special.entr(p)|torch.special.psi(p)|torch.special.logsumexp(x, 1)|torch.special.erfcx(x)|torch.special.zeta(p.detach() + 2, p.detach())|torch.special.i0e(x)
torch.special.gammainc(p.detach(), p)|torch.special.polygamma(1, p)|torch.special.logit(p / 4)|torch.special.softmax(x, 0)|torch.special.ndtri(p / 4)
"""

CREATION = """
torch.tensor([1.0, 2.0])|torch.tensor([1, 2])|torch.tensor([[True, False]])|torch.tensor(3.5)|torch.tensor([1, 2.5])|torch.tensor(2)
torch.tensor([1, 2], dtype=torch.float64)|torch.zeros(2, 3)|torch.zeros((2, 3))|torch.ones(2)|torch.ones(2, dtype=torch.long)|torch.full((2, 2), 7)
torch.full((2,), 0.5)|torch.eye(3)|torch.eye(2, 3)|torch.arange(5)|torch.arange(1, 6, 2)|torch.arange(0, 1, 0.25)|torch.arange(3.0)
torch.linspace(0, 1, 5)|torch.logspace(0, 2, 3)|torch.zeros_like(x)|torch.ones_like(k)|torch.full_like(x, 2)|torch.empty(2, 3).shape
torch.from_numpy(np.arange(3.0))|torch.as_tensor([1.0])|torch.as_tensor(np.ones(2))|x.new_zeros(2)|x.new_ones((2, 2))|k.new_tensor([1, 2])
x.new_full((2,), 3.0)|torch.tril_indices(3, 3)|torch.triu_indices(2, 3, 1)|torch.randn(2, 3).shape|torch.rand(4).shape|torch.randint(0, 5, (2, 2)).shape
torch.randint(3, (4,)).dtype|torch.randperm(4).sort()[0]|torch.randn_like(x).dtype|torch.rand(2, dtype=torch.float64).dtype|torch.hann_window(5)
torch.hamming_window(4, periodic=False)|torch.FloatTensor([1, 2])|torch.LongTensor([1, 2])|torch.vander(v.detach())|torch.normal(0.0, 1.0, (2, 3)).shape
torch.bernoulli(torch.ones(3))|torch.multinomial(torch.tensor([0.0, 1.0]), 3, replacement=True)|torch.scalar_tensor(2.0)|torch.range(0, 3)
torch.blackman_window(5)|torch.bartlett_window(4)|torch.zeros(2, 3, device="cpu").device.type|torch.tensor([1.0], device=torch.device("cpu"))
torch.randn(3, generator=torch.Generator().manual_seed(0)).shape|torch.randint_like(k, 0, 3).shape|torch.tensor([1 + 2j])|torch.zeros(0).shape
"""

TYPES = """
x.float()|x.long()|x.int()|f.double()|x.bool()|x.half()|x.to(torch.float32)|k.to(x)|x.type(torch.float32)|k.float()|x.type_as(f)|x.to("cpu")
k + 1.5|k / 2|k * 2|k / k|k ** 2|k * True|t + 1|t * 1.5|f + k|f * x|k + x|f * n|k * n|x * f[0, 0]|f + 1|f * np.float64(2.0)
k.float() * 0.5|torch.sqrt(k)|torch.exp(k)|k.sum() / 3|t.float().mean()|f ** 2|f ** 2.5|f / 3|1.5 * k|2 - t.long()|torch.sin(t)
torch.result_type(k, 1.0)|torch.result_type(f, n)|torch.promote_types(torch.int64, torch.float32)|torch.can_cast(torch.float64, torch.float32)
torch.cat([f, x])|torch.cat([k, f])|torch.stack([k, k.int()])|torch.where(t, f, x)|torch.where(t, k, 1.5)|k.masked_fill(t, 2)|f.masked_fill(t, 0.5)
torch.finfo(torch.float32).eps|torch.finfo(torch.float64).max|torch.iinfo(torch.int32).max|x.dtype == torch.float64|f.is_floating_point()
k % 3|k // 2|-k // 2|k.div(2, rounding_mode="floor")|torch.maximum(k, torch.tensor(2))|k.clamp(1, 2)|k.clamp(min=1.5)|k == 1.0|k > n|f.to(k.dtype)
torch.tensor([1, 2]) + torch.tensor(0.5)|torch.tensor([True]) + torch.tensor([1])|torch.tensor(3) * 1.5|k.double() @ m|k.int() + k|f.std().dtype
z * f|x * 1j|k * z|z + 1|torch.is_complex(z)|torch.is_floating_point(x)|torch.get_default_dtype()|(k > 1).long()|(x > 0).float()|k.byte() + 1
"""

IN_PLACE = """
y = x.clone(); y.add_(1); y|y = x.clone(); y.mul_(p); y|y = x * 1; y += p; y|y = x.clone(); y.sub_(p, alpha=2); y|y = x.clone(); y.div_(2); y
y = x.clone(); y[0] = 1.0; y|y = x.clone(); y[:, 1] = v[:3]; y|y = x.clone(); y[t] = 0; y|y = x.clone(); y.zero_(); y|y = x.clone(); y.fill_(3); y
y = x.clone(); y.clamp_(0, 1); y|y = x.clone(); y.exp_(); y|y = x.clone(); y.relu_(); y|y = p.clone(); y.sqrt_(); y|y = x.clone(); y.neg_(); y
y = x.clone(); y.copy_(p); y|y = x.clone(); y.masked_fill_(t, 9.0); y|y = torch.zeros(3, 4, dtype=torch.float64); y.scatter_(1, i, 1.0); y
y = torch.zeros(3, 4, dtype=torch.float64); y.scatter_add_(1, k, x); y|y = torch.zeros(3, 4); y[torch.arange(3), k[:, 0]] = 1; y
y = x.clone(); y[0, 0] += 5; y|y = x.clone(); y.index_add_(0, torch.tensor([0, 0]), p[:2]); y|y = x.clone(); y.pow_(2); y|y = x.clone(); y.tanh_(); y
y = x.clone(); y.unsqueeze_(0); y.shape|y = x.clone(); y.addcmul_(p, p, value=0.1); y|y = x.clone(); y.lerp_(p, 0.5); y|y = x.clone(); y.tril_(); y
y = torch.zeros(3, 3); y.fill_diagonal_(1); y|y = x.clone(); y.data.zero_(); y|y = x.detach().clone(); y.requires_grad_(); y.requires_grad
y = torch.ones(2); y.data.mul_(3); y|y = torch.ones(2); z = y.detach(); z += 1; y|y = torch.ones(2); y.data = torch.zeros(3); y|y = torch.zeros(5); y.uniform_(1, 1); y
y = torch.ones(2, requires_grad=True); y.sum().backward(); y.grad.zero_(); y.grad|y = torch.ones(2, requires_grad=True); y.sum().backward(); y.grad.data.mul_(2); y.grad
"""

AUTOGRAD = """
torch.autograd.grad(x.sum(), x)|torch.autograd.grad((x ** 2).sum(), x, create_graph=True)[0]|torch.autograd.grad(x.sum(), [x, y], allow_unused=True)[1]
g = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)[0]; torch.autograd.grad(g.sum(), x)|x.requires_grad|x.is_leaf|(x * 2).is_leaf
torch.autograd.functional.jacobian(lambda a: a ** 2, v.detach())|torch.autograd.functional.hessian(lambda a: (a ** 3).sum(), v.detach())
torch.autograd.functional.jacobian(lambda a, b: (a * b, a.sum()), (v.detach(), w.detach()))|torch.autograd.functional.vjp(lambda a: a ** 2, v.detach(), w.detach())
torch.autograd.functional.jvp(lambda a: a ** 2, v.detach(), w.detach())|torch.autograd.functional.hvp(lambda a: (a ** 3).sum(), v.detach(), w.detach())
torch.autograd.functional.hessian(lambda a, b: (a * b).sum() ** 2, (v.detach(), w.detach()))|torch.autograd.functional.vhp(lambda a: a.prod(), v.detach(), w.detach())
torch.func.grad(lambda a: a.sin().sum())(x)|torch.func.grad_and_value(lambda a: a.sum() ** 2)(x)|torch.func.jacrev(torch.sin)(v)|torch.func.jacfwd(lambda a: a.view(2, 2).sum(0))(v)
torch.func.hessian(lambda a: a.prod())(v)|torch.func.vjp(torch.sin, v)[1](w)|torch.func.jvp(torch.sin, (v,), (w,))|torch.func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(v, w)
torch.vmap(torch.dot)(x, y)|torch.vmap(lambda a: a.unsqueeze(0).sum(dim=1), in_dims=1)(x)|torch.func.vmap(torch.func.grad(lambda a: (a ** 2).sum()))(x)
torch.func.vmap(lambda a, b: a @ b, in_dims=(0, None))(b, m)|torch.vmap(lambda a: a.max(dim=0).values, out_dims=0)(b)|torch.func.linearize(torch.sin, v.detach())[1](w.detach())
torch.func.grad(lambda a: a["u"].sum() * a["q"].sum())({"u": v, "q": w})["u"]|torch.func.jacrev(lambda a: (a.sum(), a.prod()))(v)|torch.func.grad(lambda a: (a.norm(), a.std()), has_aux=True)(v)
torch.func.vmap(torch.func.jacrev(torch.tanh))(x)|torch.func.jacfwd(torch.func.jacrev(lambda a: (a ** 3).sum()))(v)|torch.vmap(lambda a, j: a.gather(0, j))(x, i)
fw = torch.autograd.forward_ad; L = fw.dual_level(); L.__enter__(); r = fw.unpack_dual(fw.make_dual(v, w) ** 2).tangent; L.__exit__(None, None, None); r
with_grad = torch.is_grad_enabled(); with_grad|torch.cuda.is_available()|x.grad is None|x.detach().requires_grad|torch.compile(torch.sin)(x)|x.cpu()|str(x.device)
"""

GROUPS = {
    "elementwise": ELEMENTWISE, "reductions": REDUCTIONS, "shapes": SHAPES, "indexing": INDEXING, "products": PRODUCTS,
    "creation": CREATION, "types": TYPES, "in_place": IN_PLACE, "autograd": AUTOGRAD,
}  # fmt: skip
LINES = [
    line for text in GROUPS.values() for row in text.strip().split("\n") for line in row.replace(" | ", "\0").split("|")
]
LINES = [line.replace("\0", " | ") for line in LINES]


def inputs(torch: Any) -> dict[str, Any]:
    """The tensors that lines use."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(4, 4))
    smooth = {
        "x": rng.normal(size=(3, 4)), "y": rng.normal(size=(3, 4)), "p": rng.uniform(0.5, 2, (3, 4)),
        "u": rng.uniform(-0.9, 0.9, (3, 4)), "v": rng.normal(size=4), "w": rng.normal(size=4), "m": a + 3 * np.eye(4),
        "s": a @ a.T + np.eye(4), "b": rng.normal(size=(2, 3, 4)), "c": rng.normal(size=(2, 4, 5)), "n": np.array(1.5),
    }  # fmt: skip
    fixed = {
        "f": rng.normal(size=(3, 4)).astype(np.float32), "i": np.array([[0, 2], [1, 3], [3, 0]]),
        "k": rng.integers(0, 4, (3, 4)), "t": rng.random((3, 4)) < 0.5,
        "z": rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4)),
    }  # fmt: skip
    made = {name: torch.tensor(value, requires_grad=True) for name, value in smooth.items()}
    return made | {name: torch.tensor(value) for name, value in fixed.items()}


def leaves(result: Any) -> list[Any]:
    """The tensors and numbers of a result."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def describe(torch: Any, leaf: Any) -> Any:
    """A tensor as its type, shape and numbers; anything else as a string or number."""
    if isinstance(leaf, torch.Tensor):
        numbers = leaf.detach().numpy()
        pair = np.stack([numbers.real, numbers.imag], -1) if numbers.dtype.kind == "c" else numbers
        return [str(leaf.dtype).removeprefix("torch."), list(leaf.shape), pair.ravel().tolist()]
    return leaf if isinstance(leaf, bool | int | float | None) else str(leaf).removeprefix("torch.")


def run_line(torch: Any, line: str) -> dict[str, Any]:
    """The result of a line, and the gradients of the sum of its squares."""
    given = inputs(torch)
    names = {"torch": torch, "np": np, **given}
    *statements, last = line.split("; ")
    exec("\n".join(statements), names)
    parts = leaves(eval(last, names))
    found = {"value": [describe(torch, part) for part in parts]}
    live = [part for part in parts if isinstance(part, torch.Tensor) and part.requires_grad and part.numel()]
    if live:
        sum((part.abs() ** 2).sum() for part in live).backward()
        found["grad"] = {
            name: given[name].grad.numpy().ravel().tolist()
            for name in given
            if given[name].is_leaf and given[name].grad is not None
        }
    return found


def main() -> None:
    import torch

    STORED.write_text(json.dumps({line: run_line(torch, line) for line in LINES}) + "\n")


if __name__ == "__main__":
    main()
