//! The table of arithmetic: opcode spellings, operand rows, meaning. It makes the enum, the look-up that lowering uses
//! and the dispatch that execution uses, so that an instruction is added in one line.
//!
//! A group's name tells the rows: `w` a 32-bit row, `d` a 64-bit row, `p` a predicate; `ww_w` takes two 32-bit rows and
//! writes one. Opcodes stand as `ptx::table` spells them. What is not listed runs one lane at a time
//! (`exact`), which also tells in a test whether what is listed is right.

/// Calls `$run!` with the whole table.
macro_rules! alu_table {
    ($run:ident) => {
        $run! {
            w_w {
                NegS32 = "neg.s32": |a| a.wrapping_neg();
                NegS16 = "neg.s16": |a| a.wrapping_neg() & 0xffff;
                AbsS32 = "abs.s32": |a| (a as i32).wrapping_abs() as u32;
                NotB32 = "not.b32": |a| !a;
                NotB16 = "not.b16": |a| !a & 0xffff;
                ClzB32 = "clz.b32": |a| a.leading_zeros();
                PopcB32 = "popc.b32": |a| a.count_ones();
                BrevB32 = "brev.b32": |a| a.reverse_bits();
                BfindU32 = "bfind.u32": |a| bfind(a);
                BfindShiftU32 = "bfind.shiftamt.u32": |a| if a == 0 { u32::MAX } else { a.leading_zeros() };
                BfindS32 = "bfind.s32": |a| bfind(if (a as i32) < 0 { !a } else { a });
                NegF32 = "neg.f32": |a| keep_nan32(a, a ^ 0x8000_0000);
                AbsF32 = "abs.f32": |a| keep_nan32(a, a & 0x7fff_ffff);
                SqrtF32 = "sqrt.rn.f32": |a| bits32(f(a).sqrt());
                RcpF32 = "rcp.rn.f32": |a| bits32(1.0 / f(a));
                Cvt32U8 = "cvt.b16.u8" "cvt.b32.u8" "cvt.u8.u8" "cvt.u8.s8" "cvt.u8.u16" "cvt.u8.s16" "cvt.u8.u32" "cvt.u8.s32": |a| a & 0xff;
                CvtS8 = "cvt.b16.s8" "cvt.b32.s8" "cvt.s8.s8" "cvt.s8.u8" "cvt.s8.s16" "cvt.s8.u16" "cvt.s8.s32" "cvt.s8.u32": |a| a as i8 as u32;
                Cvt32U16 = "cvt.b32.u16" "cvt.b16.u16" "cvt.b16.s16" "cvt.b16.u32" "cvt.b16.s32": |a| a & 0xffff;
                Cvt32S16 = "cvt.b32.s16": |a| a as i16 as u32;
                Cvt32B32 = "cvt.b32.u32" "cvt.b32.s32": |a| a;
                CvtF32S32 = "cvt.rn.f32.s32": |a| (a as i32 as f32).to_bits();
                CvtF32U32 = "cvt.rn.f32.u32": |a| (a as f32).to_bits();
                CvtF32S16 = "cvt.rn.f32.s16": |a| f32::from(a as i16).to_bits();
                CvtF32U16 = "cvt.rn.f32.u16": |a| f32::from(a as u16).to_bits();
                CvtF32S8 = "cvt.rn.f32.s8": |a| f32::from(a as i8).to_bits();
                CvtF32U8 = "cvt.rn.f32.u8": |a| f32::from(a as u8).to_bits();
                CvtRziS32F32 = "cvt.rzi.s32.f32": |a| f(a) as i32 as u32;
                CvtRziU32F32 = "cvt.rzi.u32.f32": |a| f(a) as u32;
                CvtRniS32F32 = "cvt.rni.s32.f32": |a| f(a).round_ties_even() as i32 as u32;
                CvtRmiS32F32 = "cvt.rmi.s32.f32": |a| f(a).floor() as i32 as u32;
                CvtRpiS32F32 = "cvt.rpi.s32.f32": |a| f(a).ceil() as i32 as u32;
                CvtRmiF32F32 = "cvt.rmi.f32.f32": |a| bits32(f(a).floor());
                CvtRpiF32F32 = "cvt.rpi.f32.f32": |a| bits32(f(a).ceil());
                CvtRniF32F32 = "cvt.rni.f32.f32": |a| bits32(f(a).round_ties_even());
                CvtRziF32F32 = "cvt.rzi.f32.f32": |a| bits32(f(a).trunc());
                NegFtzF32 = "neg.ftz.f32": |a| keep_nan32(ftz(a), ftz(a) ^ 0x8000_0000);
                AbsFtzF32 = "abs.ftz.f32": |a| keep_nan32(ftz(a), ftz(a) & 0x7fff_ffff);
                SqrtFtzF32 = "sqrt.rn.ftz.f32": |a| flushed32(ff(a).sqrt());
                Ex2FtzF32 = "ex2.approx.ftz.f32": |a| ex2(ftz(a));
                RcpFtzF32 = "rcp.rn.ftz.f32": |a| flushed32(1.0 / ff(a));
                CvtRziFtzS32F32 = "cvt.rzi.ftz.s32.f32": |a| ff(a) as i32 as u32;
                CvtRziFtzU32F32 = "cvt.rzi.ftz.u32.f32": |a| ff(a) as u32;
                CvtF32F16 = "cvt.f32.f16": |a| bits32(from_f16(a));
                CvtF16F32 = "cvt.rn.f16.f32": |a| to_f16(f(a));
                CvtF32Bf16 = "cvt.f32.bf16": |a| a << 16;
                CvtBf16F32 = "cvt.rn.bf16.f32": |a| to_bf16(f(a));
            }
            ww_w {
                AddB32 = "add.s32" "add.u32": |a, b| a.wrapping_add(b);
                SubB32 = "sub.s32" "sub.u32": |a, b| a.wrapping_sub(b);
                MulLoB32 = "mul.lo.s32" "mul.lo.u32": |a, b| a.wrapping_mul(b);
                MulHiU32 = "mul.hi.u32": |a, b| (u64::from(a) * u64::from(b) >> 32) as u32;
                MulHiS32 = "mul.hi.s32": |a, b| (i64::from(a as i32) * i64::from(b as i32) >> 32) as u32;
                Mul24LoU32 = "mul24.lo.u32": |a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff);
                AddB16 = "add.s16" "add.u16": |a, b| a.wrapping_add(b) & 0xffff;
                SubB16 = "sub.s16" "sub.u16": |a, b| a.wrapping_sub(b) & 0xffff;
                MulLoB16 = "mul.lo.s16" "mul.lo.u16": |a, b| a.wrapping_mul(b) & 0xffff;
                MulHiU16 = "mul.hi.u16": |a, b| (a & 0xffff).wrapping_mul(b & 0xffff) >> 16;
                MulWideU16 = "mul.wide.u16": |a, b| (a & 0xffff).wrapping_mul(b & 0xffff);
                MulWideS16 = "mul.wide.s16": |a, b| (i32::from(a as i16).wrapping_mul(i32::from(b as i16))) as u32;
                // The hardware's quotient and remainder for a zero divisor are all ones.
                DivU32 = "div.u32": |a, b| a.checked_div(b).unwrap_or(!0);
                DivS32 = "div.s32": |a, b| if b == 0 { !0 } else { (a as i32).wrapping_div(b as i32) as u32 };
                RemU32 = "rem.u32": |a, b| if b == 0 { !0 } else { a % b };
                RemS32 = "rem.s32": |a, b| if b == 0 { !0 } else { (a as i32).wrapping_rem(b as i32) as u32 };
                MinU32 = "min.u32": |a, b| a.min(b);
                MinS32 = "min.s32": |a, b| (a as i32).min(b as i32) as u32;
                MaxU32 = "max.u32": |a, b| a.max(b);
                MaxS32 = "max.s32": |a, b| (a as i32).max(b as i32) as u32;
                AndB32 = "and.b32": |a, b| a & b;
                OrB32 = "or.b32": |a, b| a | b;
                XorB32 = "xor.b32": |a, b| a ^ b;
                AndB16 = "and.b16": |a, b| a & b & 0xffff;
                OrB16 = "or.b16": |a, b| (a | b) & 0xffff;
                XorB16 = "xor.b16": |a, b| (a ^ b) & 0xffff;
                ShlB32 = "shl.b32": |a, b| if b > 31 { 0 } else { a << b };
                ShlB16 = "shl.b16": |a, b| if b > 15 { 0 } else { a << b & 0xffff };
                ShrU32 = "shr.u32" "shr.b32": |a, b| if b > 31 { 0 } else { a >> b };
                ShrU16 = "shr.u16" "shr.b16": |a, b| if b > 15 { 0 } else { (a & 0xffff) >> b };
                ShrS32 = "shr.s32": |a, b| (a as i32 >> b.min(31)) as u32;
                ShrS16 = "shr.s16": |a, b| (a as i16 >> b.min(15)) as u16 as u32;
                AddF32 = "add.f32" "add.rn.f32": |a, b| bits32(f(a) + f(b));
                SubF32 = "sub.f32" "sub.rn.f32": |a, b| bits32(f(a) - f(b));
                MulF32 = "mul.f32" "mul.rn.f32": |a, b| bits32(f(a) * f(b));
                DivF32 = "div.rn.f32": |a, b| bits32(f(a) / f(b));
                MinF32 = "min.f32": |a, b| min_f32(a, b);
                MaxF32 = "max.f32": |a, b| max_f32(a, b);
                MinNanF32 = "min.NaN.f32": |a, b| min_nan_f32(a, b);
                MaxNanF32 = "max.NaN.f32": |a, b| max_nan_f32(a, b);
                CopysignF32 = "copysign.f32": |a, b| a & 0x8000_0000 | b & 0x7fff_ffff;
                AddFtzF32 = "add.ftz.f32" "add.rn.ftz.f32": |a, b| flushed32(ff(a) + ff(b));
                AddF16 = "add.f16" "add.rn.f16": |a, b| add_f16(a, b);
                AddF16x2 = "add.f16x2" "add.rn.f16x2": |a, b| both2(a, b, add_f16);
                AddBf16 = "add.bf16" "add.rn.bf16": |a, b| add_bf16(a, b);
                AddBf16x2 = "add.bf16x2" "add.rn.bf16x2": |a, b| both2(a, b, add_bf16);
                SubFtzF32 = "sub.ftz.f32" "sub.rn.ftz.f32": |a, b| flushed32(ff(a) - ff(b));
                SubF16 = "sub.f16" "sub.rn.f16": |a, b| sub_f16(a, b);
                SubF16x2 = "sub.f16x2" "sub.rn.f16x2": |a, b| both2(a, b, sub_f16);
                SubBf16 = "sub.bf16" "sub.rn.bf16": |a, b| sub_bf16(a, b);
                SubBf16x2 = "sub.bf16x2" "sub.rn.bf16x2": |a, b| both2(a, b, sub_bf16);
                MulFtzF32 = "mul.ftz.f32" "mul.rn.ftz.f32": |a, b| flushed64(f64::from(ff(a)) * f64::from(ff(b)));
                MulF16 = "mul.f16" "mul.rn.f16": |a, b| mul_f16(a, b);
                MulF16x2 = "mul.f16x2" "mul.rn.f16x2": |a, b| both2(a, b, mul_f16);
                MulBf16 = "mul.bf16" "mul.rn.bf16": |a, b| mul_bf16(a, b);
                MulBf16x2 = "mul.bf16x2" "mul.rn.bf16x2": |a, b| both2(a, b, mul_bf16);
                MinBf16x2 = "min.bf16x2": |a, b| both2(a, b, |a, b| in_bf16(a, b, min_f32));
                MaxBf16x2 = "max.bf16x2": |a, b| both2(a, b, |a, b| in_bf16(a, b, max_f32));
                MinNanBf16x2 = "min.NaN.bf16x2": |a, b| both2(a, b, |a, b| in_bf16(a, b, min_nan_f32));
                MaxNanBf16x2 = "max.NaN.bf16x2": |a, b| both2(a, b, |a, b| in_bf16(a, b, max_nan_f32));
                DivFtzF32 = "div.rn.ftz.f32": |a, b| flushed64(f64::from(ff(a)) / f64::from(ff(b)));
                MinFtzF32 = "min.ftz.f32": |a, b| min_f32(ftz(a), ftz(b));
                MaxFtzF32 = "max.ftz.f32": |a, b| max_f32(ftz(a), ftz(b));
                CvtF16x2F32 = "cvt.rn.f16x2.f32": |a, b| to_f16(f(b)) | to_f16(f(a)) << 16;
                CvtBf16x2F32 = "cvt.rn.bf16x2.f32": |a, b| to_bf16(f(b)) | to_bf16(f(a)) << 16;
            }
            www_w {
                MadLoB32 = "mad.lo.s32" "mad.lo.u32": |a, b, c| a.wrapping_mul(b).wrapping_add(c);
                MadHiU32 = "mad.hi.u32": |a, b, c| ((u64::from(a) * u64::from(b) >> 32) as u32).wrapping_add(c);
                FmaF32 = "fma.rn.f32" "mad.rn.f32": |a, b, c| bits32(f(a).mul_add(f(b), f(c)));
                FmaFtzF32 = "fma.rn.ftz.f32" "mad.rn.ftz.f32": |a, b, c| flushed64(fma_to_odd64(ff(a), ff(b), ff(c)));
                FmaF16 = "fma.rn.f16": |a, b, c| fma_f16(a, b, c);
                FmaF16x2 = "fma.rn.f16x2": |a, b, c| both3(a, b, c, fma_f16);
                FmaBf16 = "fma.rn.bf16": |a, b, c| fma_bf16(a, b, c);
                FmaBf16x2 = "fma.rn.bf16x2": |a, b, c| both3(a, b, c, fma_bf16);
                AddMinusProductF32 = "fused.-ab+c.f32": |a, b, c| bits32(f(a ^ 0x8000_0000).mul_add(f(b), f(c)));
                ProductMinusF32 = "fused.ab-c.f32": |a, b, c| bits32(f(a).mul_add(f(b), f(c ^ 0x8000_0000)));
                MinusProductMinusF32 = "fused.-ab-c.f32": |a, b, c| bits32(f(a ^ 0x8000_0000).mul_add(f(b), f(c ^ 0x8000_0000)));
                AddMinusProductFtzF32 = "fused.-ab+c.ftz.f32": |a, b, c| flushed64(fma_to_odd64(ff(a ^ 0x8000_0000), ff(b), ff(c)));
                ProductMinusFtzF32 = "fused.ab-c.ftz.f32": |a, b, c| flushed64(fma_to_odd64(ff(a), ff(b), ff(c ^ 0x8000_0000)));
                MinusProductMinusFtzF32 = "fused.-ab-c.ftz.f32": |a, b, c| flushed64(fma_to_odd64(ff(a ^ 0x8000_0000), ff(b), ff(c ^ 0x8000_0000)));
                AddMinusProductF16 = "fused.-ab+c.f16": |a, b, c| fma_f16(a ^ 0x8000, b, c);
                ProductMinusF16 = "fused.ab-c.f16": |a, b, c| fma_f16(a, b, c ^ 0x8000);
                MinusProductMinusF16 = "fused.-ab-c.f16": |a, b, c| fma_f16(a ^ 0x8000, b, c ^ 0x8000);
                AddMinusProductF16x2 = "fused.-ab+c.f16x2": |a, b, c| both3(a ^ 0x8000_8000, b, c, fma_f16);
                ProductMinusF16x2 = "fused.ab-c.f16x2": |a, b, c| both3(a, b, c ^ 0x8000_8000, fma_f16);
                MinusProductMinusF16x2 = "fused.-ab-c.f16x2": |a, b, c| both3(a ^ 0x8000_8000, b, c ^ 0x8000_8000, fma_f16);
                AddMinusProductBf16 = "fused.-ab+c.bf16": |a, b, c| fma_bf16(a ^ 0x8000, b, c);
                ProductMinusBf16 = "fused.ab-c.bf16": |a, b, c| fma_bf16(a, b, c ^ 0x8000);
                MinusProductMinusBf16 = "fused.-ab-c.bf16": |a, b, c| fma_bf16(a ^ 0x8000, b, c ^ 0x8000);
                AddMinusProductBf16x2 = "fused.-ab+c.bf16x2": |a, b, c| both3(a ^ 0x8000_8000, b, c, fma_bf16);
                ProductMinusBf16x2 = "fused.ab-c.bf16x2": |a, b, c| both3(a, b, c ^ 0x8000_8000, fma_bf16);
                MinusProductMinusBf16x2 = "fused.-ab-c.bf16x2": |a, b, c| both3(a ^ 0x8000_8000, b, c ^ 0x8000_8000, fma_bf16);
                BfeU32 = "bfe.u32": |a, b, c| bfe_u64(u64::from(a), b, c, 32) as u32;
                BfeS32 = "bfe.s32": |a, b, c| bfe_s64(i64::from(a as i32), b, c, 32) as u32;
                PrmtB32 = "prmt.b32": |a, b, c| prmt(a, b, c);
                ShfLWrap = "shf.l.wrap.b32": |a, b, c| ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32;
                ShfRWrap = "shf.r.wrap.b32": |a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32;
                ShfLClamp = "shf.l.clamp.b32": |a, b, c| ((u64::from(b) << 32 | u64::from(a)) << c.min(32) >> 32) as u32;
                ShfRClamp = "shf.r.clamp.b32": |a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32;
            }
            wwww_w {
                Lop3B32 = "lop3.b32": |a, b, c, e| lop3(a, b, c, e);
                BfiB32 = "bfi.b32": |a, b, c, e| bfi_u64(u64::from(a), u64::from(b), c, e, 32) as u32;
            }
            d_d {
                NegS64 = "neg.s64": |a| a.wrapping_neg();
                AbsS64 = "abs.s64": |a| (a as i64).wrapping_abs() as u64;
                NotB64 = "not.b64": |a| !a;
                BrevB64 = "brev.b64": |a| a.reverse_bits();
                NegF64 = "neg.f64": |a| keep_nan64(a, a ^ 1 << 63);
                AbsF64 = "abs.f64": |a| keep_nan64(a, a & !(1 << 63));
                SqrtF64 = "sqrt.rn.f64": |a| bits64(g(a).sqrt(), [a]);
                RcpF64 = "rcp.rn.f64": |a| bits64(1.0 / g(a), [a]);
                Cvt64B64 = "cvt.b64.u64" "cvt.b64.s64": |a| a;
                CvtF64S64 = "cvt.rn.f64.s64": |a| (a as i64 as f64).to_bits();
                CvtF64U64 = "cvt.rn.f64.u64": |a| (a as f64).to_bits();
                CvtRziS64F64 = "cvt.rzi.s64.f64": |a| if g(a).is_nan() { 1 << 63 } else { g(a) as i64 as u64 };
                CvtRziU64F64 = "cvt.rzi.u64.f64": |a| if g(a).is_nan() { 1 << 63 } else { g(a) as u64 };
            }
            dd_d {
                AddB64 = "add.s64" "add.u64": |a, b| a.wrapping_add(b);
                SubB64 = "sub.s64" "sub.u64": |a, b| a.wrapping_sub(b);
                MulLoB64 = "mul.lo.s64" "mul.lo.u64": |a, b| a.wrapping_mul(b);
                MulHiU64 = "mul.hi.u64": |a, b| (u128::from(a) * u128::from(b) >> 64) as u64;
                MulHiS64 = "mul.hi.s64": |a, b| (i128::from(a as i64) * i128::from(b as i64) >> 64) as u64;
                DivU64 = "div.u64": |a, b| a.checked_div(b).unwrap_or(!0);
                DivS64 = "div.s64": |a, b| if b == 0 { !0 } else { (a as i64).wrapping_div(b as i64) as u64 };
                RemU64 = "rem.u64": |a, b| if b == 0 { !0 } else { a % b };
                RemS64 = "rem.s64": |a, b| if b == 0 { !0 } else { (a as i64).wrapping_rem(b as i64) as u64 };
                MinU64 = "min.u64": |a, b| a.min(b);
                MinS64 = "min.s64": |a, b| (a as i64).min(b as i64) as u64;
                MaxU64 = "max.u64": |a, b| a.max(b);
                MaxS64 = "max.s64": |a, b| (a as i64).max(b as i64) as u64;
                AndB64 = "and.b64": |a, b| a & b;
                OrB64 = "or.b64": |a, b| a | b;
                XorB64 = "xor.b64": |a, b| a ^ b;
                AddF64 = "add.f64" "add.rn.f64": |a, b| bits64(g(a) + g(b), [b, a]);
                SubF64 = "sub.f64" "sub.rn.f64": |a, b| bits64(g(a) - g(b), [b, a]);
                MulF64 = "mul.f64" "mul.rn.f64": |a, b| bits64(g(a) * g(b), [b, a]);
                DivF64 = "div.rn.f64": |a, b| bits64(g(a) / g(b), [a, b]);
                MinF64 = "min.f64": |a, b| min_f64(a, b);
                MaxF64 = "max.f64": |a, b| max_f64(a, b);
                AddF32x2 = "add.f32x2" "add.rn.f32x2": |a, b| singles([a, b], |[a, b]| bits32(f(a) + f(b)));
                SubF32x2 = "sub.f32x2" "sub.rn.f32x2": |a, b| singles([a, b], |[a, b]| bits32(f(a) - f(b)));
                MulF32x2 = "mul.f32x2" "mul.rn.f32x2": |a, b| singles([a, b], |[a, b]| bits32(f(a) * f(b)));
            }
            ddd_d {
                FmaF32x2 = "fma.rn.f32x2": |a, b, c| singles([a, b, c], |[a, b, c]| bits32(f(a).mul_add(f(b), f(c))));
                MadLoB64 = "mad.lo.s64" "mad.lo.u64": |a, b, c| a.wrapping_mul(b).wrapping_add(c);
                FmaF64 = "fma.rn.f64" "mad.rn.f64": |a, b, c| bits64(g(a).mul_add(g(b), g(c)), [b, c, a]);
                AddMinusProductF64 = "fused.-ab+c.f64": |a, b, c| bits64((-g(a)).mul_add(g(b), g(c)), [b, c, a]);
                ProductMinusF64 = "fused.ab-c.f64": |a, b, c| bits64(g(a).mul_add(g(b), -g(c)), [b, c, a]);
                MinusProductMinusF64 = "fused.-ab-c.f64": |a, b, c| bits64((-g(a)).mul_add(g(b), -g(c)), [b, c, a]);
            }
            dw_d {
                ShlB64 = "shl.b64": |a, b| if b > 63 { 0 } else { a << b };
                ShrU64 = "shr.u64" "shr.b64": |a, b| if b > 63 { 0 } else { a >> b };
                ShrS64 = "shr.s64": |a, b| (a as i64 >> b.min(63)) as u64;
            }
            ww_d {
                MulWideU32 = "mul.wide.u32": |a, b| u64::from(a) * u64::from(b);
                MulWideS32 = "mul.wide.s32": |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64;
            }
            wwd_d {
                MadWideU32 = "mad.wide.u32": |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c);
                MadWideS32 = "mad.wide.s32": |a, b, c| ((i64::from(a as i32) * i64::from(b as i32)) as u64).wrapping_add(c);
            }
            d_w {
                ClzB64 = "clz.b64": |a| a.leading_zeros();
                PopcB64 = "popc.b64": |a| a.count_ones();
                Cvt32B64 = "cvt.b32.u64" "cvt.b32.s64": |a| a as u32;
                Cvt16B64 = "cvt.b16.u64" "cvt.b16.s64": |a| a as u16 as u32;
                Cvt8B64 = "cvt.u8.u64" "cvt.u8.s64": |a| a as u8 as u32;
                CvtS8B64 = "cvt.s8.u64" "cvt.s8.s64": |a| a as i8 as u32;
                CvtF32F64 = "cvt.rn.f32.f64": |a| f32_of_f64(a);
                CvtF32S64 = "cvt.rn.f32.s64": |a| (a as i64 as f32).to_bits();
                CvtF32U64 = "cvt.rn.f32.u64": |a| (a as f32).to_bits();
                CvtRziS32F64 = "cvt.rzi.s32.f64": |a| if g(a).is_nan() { 1 << 31 } else { g(a) as i32 as u32 };
                CvtRziU32F64 = "cvt.rzi.u32.f64": |a| if g(a).is_nan() { 1 << 31 } else { g(a) as u32 };
            }
            w_d {
                Cvt64U8 = "cvt.b64.u8": |a| u64::from(a as u8);
                Cvt64S8 = "cvt.b64.s8": |a| a as i8 as u64;
                Cvt64U16 = "cvt.b64.u16": |a| u64::from(a as u16);
                Cvt64S16 = "cvt.b64.s16": |a| a as i16 as u64;
                Cvt64U32 = "cvt.b64.u32": |a| u64::from(a);
                Cvt64S32 = "cvt.b64.s32": |a| a as i32 as u64;
                CvtF64F32 = "cvt.f64.f32": |a| f64_of_f32(a);
                CvtF64S32 = "cvt.rn.f64.s32": |a| f64::from(a as i32).to_bits();
                CvtF64U32 = "cvt.rn.f64.u32": |a| f64::from(a).to_bits();
                CvtRziS64F32 = "cvt.rzi.s64.f32": |a| if f(a).is_nan() { 1 << 63 } else { f(a) as i64 as u64 };
                CvtRziU64F32 = "cvt.rzi.u64.f32": |a| if f(a).is_nan() { 1 << 63 } else { f(a) as u64 };
            }
            ddww_d {
                BfiB64 = "bfi.b64": |a, b, c, e| bfi_u64(a, b, c, e, 64);
            }
            dww_d {
                BfeU64 = "bfe.u64": |a, b, c| bfe_u64(a, b, c, 64);
                BfeS64 = "bfe.s64": |a, b, c| bfe_s64(a as i64, b, c, 64) as u64;
            }
            ww_p {
                EqB32 = "setp.eq.s32" "setp.eq.u32" "setp.eq.b32": |a, b| a == b;
                NeB32 = "setp.ne.s32" "setp.ne.u32" "setp.ne.b32": |a, b| a != b;
                LtS32 = "setp.lt.s32": |a, b| (a as i32) < b as i32;
                LeS32 = "setp.le.s32": |a, b| a as i32 <= b as i32;
                GtS32 = "setp.gt.s32": |a, b| a as i32 > b as i32;
                GeS32 = "setp.ge.s32": |a, b| a as i32 >= b as i32;
                LtU32 = "setp.lt.u32" "setp.lo.u32": |a, b| a < b;
                LeU32 = "setp.le.u32" "setp.ls.u32": |a, b| a <= b;
                GtU32 = "setp.gt.u32" "setp.hi.u32": |a, b| a > b;
                GeU32 = "setp.ge.u32" "setp.hs.u32": |a, b| a >= b;
                EqB16 = "setp.eq.s16" "setp.eq.u16" "setp.eq.b16": |a, b| a as u16 == b as u16;
                NeB16 = "setp.ne.s16" "setp.ne.u16" "setp.ne.b16": |a, b| a as u16 != b as u16;
                LtS16 = "setp.lt.s16": |a, b| (a as i16) < b as i16;
                LeS16 = "setp.le.s16": |a, b| a as i16 <= b as i16;
                GtS16 = "setp.gt.s16": |a, b| a as i16 > b as i16;
                GeS16 = "setp.ge.s16": |a, b| a as i16 >= b as i16;
                LtU16 = "setp.lt.u16": |a, b| (a as u16) < b as u16;
                LeU16 = "setp.le.u16": |a, b| a as u16 <= b as u16;
                GtU16 = "setp.gt.u16": |a, b| a as u16 > b as u16;
                GeU16 = "setp.ge.u16": |a, b| a as u16 >= b as u16;
                EqF32 = "setp.eq.f32": |a, b| f(a) == f(b);
                NeF32 = "setp.ne.f32": |a, b| f(a) < f(b) || f(a) > f(b);
                LtF32 = "setp.lt.f32": |a, b| f(a) < f(b);
                LeF32 = "setp.le.f32": |a, b| f(a) <= f(b);
                GtF32 = "setp.gt.f32": |a, b| f(a) > f(b);
                GeF32 = "setp.ge.f32": |a, b| f(a) >= f(b);
                EquF32 = "setp.equ.f32": |a, b| !(f(a) < f(b) || f(a) > f(b));
                NeuF32 = "setp.neu.f32": |a, b| f(a) != f(b);
                LtuF32 = "setp.ltu.f32": |a, b| f(a).is_nan() || f(b).is_nan() || f(a) < f(b);
                LeuF32 = "setp.leu.f32": |a, b| f(a).is_nan() || f(b).is_nan() || f(a) <= f(b);
                GtuF32 = "setp.gtu.f32": |a, b| f(a).is_nan() || f(b).is_nan() || f(a) > f(b);
                GeuF32 = "setp.geu.f32": |a, b| f(a).is_nan() || f(b).is_nan() || f(a) >= f(b);
                NumF32 = "setp.num.f32": |a, b| !f(a).is_nan() && !f(b).is_nan();
                NanF32 = "setp.nan.f32": |a, b| f(a).is_nan() || f(b).is_nan();
                EqFtzF32 = "setp.eq.ftz.f32": |a, b| ff(a) == ff(b);
                LtFtzF32 = "setp.lt.ftz.f32": |a, b| ff(a) < ff(b);
                LeFtzF32 = "setp.le.ftz.f32": |a, b| ff(a) <= ff(b);
                GtFtzF32 = "setp.gt.ftz.f32": |a, b| ff(a) > ff(b);
                GeFtzF32 = "setp.ge.ftz.f32": |a, b| ff(a) >= ff(b);
                NeuFtzF32 = "setp.neu.ftz.f32": |a, b| ff(a) != ff(b);
            }
            dd_p {
                EqB64 = "setp.eq.s64" "setp.eq.u64" "setp.eq.b64": |a, b| a == b;
                NeB64 = "setp.ne.s64" "setp.ne.u64" "setp.ne.b64": |a, b| a != b;
                LtS64 = "setp.lt.s64": |a, b| (a as i64) < b as i64;
                LeS64 = "setp.le.s64": |a, b| a as i64 <= b as i64;
                GtS64 = "setp.gt.s64": |a, b| a as i64 > b as i64;
                GeS64 = "setp.ge.s64": |a, b| a as i64 >= b as i64;
                LtU64 = "setp.lt.u64" "setp.lo.u64": |a, b| a < b;
                LeU64 = "setp.le.u64" "setp.ls.u64": |a, b| a <= b;
                GtU64 = "setp.gt.u64" "setp.hi.u64": |a, b| a > b;
                GeU64 = "setp.ge.u64" "setp.hs.u64": |a, b| a >= b;
                EqF64 = "setp.eq.f64": |a, b| g(a) == g(b);
                NeF64 = "setp.ne.f64": |a, b| g(a) < g(b) || g(a) > g(b);
                LtF64 = "setp.lt.f64": |a, b| g(a) < g(b);
                LeF64 = "setp.le.f64": |a, b| g(a) <= g(b);
                GtF64 = "setp.gt.f64": |a, b| g(a) > g(b);
                GeF64 = "setp.ge.f64": |a, b| g(a) >= g(b);
                NeuF64 = "setp.neu.f64": |a, b| g(a) != g(b);
                NumF64 = "setp.num.f64": |a, b| !g(a).is_nan() && !g(b).is_nan();
                NanF64 = "setp.nan.f64": |a, b| g(a).is_nan() || g(b).is_nan();
            }
        }
    };
}
pub(crate) use alu_table;

macro_rules! define {
    ($($sig:ident { $($name:ident = $($text:literal)+ : $f:expr;)* })*) => {
        /// One operation of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs)] // the table above says what each one is
        pub enum Alu { $($($name,)*)* }

        impl Alu {
            /// The operation that an opcode spells.
            pub fn from_opcode(opcode: &str) -> Option<Alu> {
                Some(match opcode {
                    $($($($text)|+ => Alu::$name,)*)*
                    _ => return None,
                })
            }

            /// Operand rows: `ww_w` and so on.
            pub fn signature(self) -> Signature {
                match self { $($(Alu::$name)|* => Signature::parse(stringify!($sig)),)* }
            }

            /// Every opcode the table knows.
            #[cfg(test)]
            pub const OPCODES: &'static [&'static str] = &[$($($($text,)+)*)*];
        }
    };
}
alu_table!(define);

/// The width of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    /// 32 bits a lane.
    W,
    /// 64 bits a lane.
    D,
    /// One bit a lane.
    P,
}

/// Sources and destination of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// Source rows, in order.
    pub sources: [Option<Row>; 4],
    /// Destination row.
    pub destination: Row,
}

impl Signature {
    fn parse(name: &str) -> Signature {
        let row = |c| match c {
            b'd' => Row::D,
            b'p' => Row::P,
            _ => Row::W,
        };
        let bytes = name.as_bytes();
        let mut sources = [None; 4];
        for (slot, &c) in sources.iter_mut().zip(bytes.iter().take_while(|&&c| c != b'_')) {
            *slot = Some(row(c));
        }
        Signature { sources, destination: row(bytes[bytes.len() - 1]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_is_spelled_once_and_found() {
        let mut seen = std::collections::HashSet::new();
        for opcode in Alu::OPCODES {
            assert!(seen.insert(opcode), "{opcode} stands twice in the table");
            assert!(Alu::from_opcode(opcode).is_some());
        }
        assert!(seen.len() > 150);
    }

    #[test]
    fn signatures_are_read_from_group_names() {
        let s = Alu::MadWideU32.signature();
        assert_eq!(s.sources, [Some(Row::W), Some(Row::W), Some(Row::D), None]);
        assert_eq!(s.destination, Row::D);
        assert_eq!(Alu::LtF64.signature().destination, Row::P);
    }
}
