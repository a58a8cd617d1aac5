//! Whether this processor has what the program was compiled for, and whether a faster build beside it
//! would suit it better.
//!
//! It asks the processor itself: the standard library's feature macro answers "yes" at compile time
//! to whatever the target promises. Nothing here may format, allocate or compute more than it
//! must, since every instruction of it is compiled for the promised processor too.

use std::io::{self, Write};

/// How to build for any 64-bit x86 processor.
const REMEDY: &str = ".\nBuild it for this machine with\n  \
    RUSTFLAGS=\"-C target-cpu=x86-64\" cargo build --release\n";

/// The bit of `basic_ecx` that says that the operating system saves the vector registers and the
/// program may ask which.
const OSXSAVE: u32 = 1 << 27;

/// The answers of the processor that tell its features.
#[derive(Debug, Clone, Copy, Default)]
struct Words {
    /// Leaf 1, register ecx.
    basic_ecx: u32,
    /// Leaf 7, register ebx.
    extended_ebx: u32,
    /// Leaf `0x8000_0001`, register ecx.
    amd_ecx: u32,
    /// Which register sets the operating system saves (xcr0), 0 when it does not say.
    saved: u64,
}

/// One feature: its name, whether this program uses it, and whether a processor has it.
struct Feature {
    name: &'static str,
    used: bool,
    had: fn(&Words) -> bool,
}

const fn feature(name: &'static str, used: bool, had: fn(&Words) -> bool) -> Feature {
    Feature { name, used, had }
}

/// The upper halves of vector registers survive a task switch.
fn saves_vectors(words: &Words) -> bool {
    words.basic_ecx & OSXSAVE != 0 && words.saved & 0b110 == 0b110
}

/// What a level-3 processor adds to the first 64-bit one, the most telling names first.
const FEATURES: [Feature; 14] = [
    feature("SSE3", cfg!(target_feature = "sse3"), |w| {
        w.basic_ecx & 1 != 0
    }),
    feature("SSSE3", cfg!(target_feature = "ssse3"), |w| {
        w.basic_ecx & (1 << 9) != 0
    }),
    feature("SSE4.1", cfg!(target_feature = "sse4.1"), |w| {
        w.basic_ecx & (1 << 19) != 0
    }),
    feature("SSE4.2", cfg!(target_feature = "sse4.2"), |w| {
        w.basic_ecx & (1 << 20) != 0
    }),
    feature("POPCNT", cfg!(target_feature = "popcnt"), |w| {
        w.basic_ecx & (1 << 23) != 0
    }),
    feature("CMPXCHG16B", cfg!(target_feature = "cmpxchg16b"), |w| {
        w.basic_ecx & (1 << 13) != 0
    }),
    feature("AVX", cfg!(target_feature = "avx"), |w| {
        w.basic_ecx & (1 << 28) != 0 && saves_vectors(w)
    }),
    feature("AVX2", cfg!(target_feature = "avx2"), |w| {
        w.extended_ebx & (1 << 5) != 0 && saves_vectors(w)
    }),
    feature("BMI1", cfg!(target_feature = "bmi1"), |w| {
        w.extended_ebx & (1 << 3) != 0
    }),
    feature("BMI2", cfg!(target_feature = "bmi2"), |w| {
        w.extended_ebx & (1 << 8) != 0
    }),
    feature("FMA", cfg!(target_feature = "fma"), |w| {
        w.basic_ecx & (1 << 12) != 0 && saves_vectors(w)
    }),
    feature("F16C", cfg!(target_feature = "f16c"), |w| {
        w.basic_ecx & (1 << 29) != 0 && saves_vectors(w)
    }),
    feature("LZCNT", cfg!(target_feature = "lzcnt"), |w| {
        w.amd_ecx & (1 << 5) != 0
    }),
    feature("MOVBE", cfg!(target_feature = "movbe"), |w| {
        w.basic_ecx & (1 << 22) != 0
    }),
];

/// A build of this program for newer processors goes by this name beside it.
const FASTER: &str = "megaton-fast";
/// Anyone who sets this wants this build and no other.
const STAY: &str = "MEGATON_PORTABLE";

/// Whether a processor with these answers has all that a level-3 one has.
fn is_level_3(words: &Words) -> bool {
    FEATURES.iter().all(|feature| (feature.had)(words))
}

/// Goes on as the build for newer processors, if this is not it, this processor can run it and it
/// lies beside this one. The process stays the same; comes back only if nothing came of it.
pub(crate) fn hand_over() {
    #[cfg(all(target_arch = "x86_64", not(target_feature = "avx2")))]
    if let Some(faster) = faster() {
        use std::os::unix::process::CommandExt;

        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_else(|| FASTER.into());
        // What cannot be started is done without: this build can do all that the other can.
        let _ = std::process::Command::new(faster)
            .arg0(name)
            .args(arguments)
            .exec();
    }
}

/// The build for newer processors, where it can be used.
#[cfg_attr(
    any(not(target_arch = "x86_64"), target_feature = "avx2"),
    allow(dead_code, reason = "this is it already")
)]
fn faster() -> Option<std::path::PathBuf> {
    if std::env::var_os(STAY).is_some() || !is_level_3(&ask()) {
        return None;
    }
    let own = std::env::current_exe().ok()?;
    let beside = own.with_file_name(FASTER);
    (beside != own && beside.is_file()).then_some(beside)
}

/// The first feature that this program uses and a processor with these answers lacks.
fn missing(words: &Words) -> Option<&'static str> {
    let lacked = FEATURES
        .iter()
        .find(|feature| feature.used && !(feature.had)(words));
    lacked.map(|feature| feature.name)
}

/// Whether the program cannot run here; the reason is on stderr then.
#[inline(never)]
pub(crate) fn refuses() -> bool {
    let Some(feature) = missing(&ask()) else {
        return false;
    };
    let mut err = io::stderr();
    for part in [
        "megaton: this processor lacks ",
        feature,
        ", which this build uses",
        REMEDY,
    ] {
        // Where even stderr is closed, the exit status still tells.
        let _ = err.write_all(part.as_bytes());
    }
    true
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the processor is asked by an instruction")]
#[allow(unused_unsafe, reason = "newer compilers hold cpuid to be safe")]
fn ask() -> Words {
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

    #[target_feature(enable = "xsave")]
    fn saved() -> u64 {
        // SAFETY: called only where OSXSAVE says that the instruction exists and is permitted.
        unsafe { _xgetbv(0) }
    }

    // SAFETY: every 64-bit x86 processor has the cpuid instruction, and a leaf is read only after
    // the processor has said that it knows it (leaves 0, 1 and 0x8000_0000 always exist).
    unsafe {
        let highest = __cpuid(0).eax;
        let highest_amd = __cpuid(0x8000_0000).eax;
        let basic_ecx = __cpuid(1).ecx;
        Words {
            basic_ecx,
            extended_ebx: if highest >= 7 {
                __cpuid_count(7, 0).ebx
            } else {
                0
            },
            amd_ecx: if highest_amd > 0x8000_0000 {
                __cpuid(0x8000_0001).ecx
            } else {
                0
            },
            saved: if basic_ecx & OSXSAVE != 0 { saved() } else { 0 },
        }
    }
}

/// Other processors are not asked: none of the features is used there.
#[cfg(not(target_arch = "x86_64"))]
fn ask() -> Words {
    Words::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a Haswell answers, the oldest level-3 processor.
    const HASWELL: Words = Words {
        basic_ecx: 0x7ffe_fbbf,
        extended_ebx: 0x2fbb,
        amd_ecx: 0x21,
        saved: 0b111,
    };
    /// What a Nehalem answers: level 2, no AVX.
    const NEHALEM: Words = Words {
        basic_ecx: 0x0098_e3fd,
        extended_ebx: 0,
        amd_ecx: 1,
        saved: 0,
    };

    #[test]
    fn this_processor_can_run_this_build() {
        assert!(!refuses());
    }

    #[test]
    fn a_haswell_runs_every_build() {
        assert_eq!(missing(&HASWELL), None);
    }

    #[test]
    fn an_older_processor_gets_a_list_of_missing_features() {
        let expected = cfg!(target_feature = "avx").then_some("AVX");
        assert_eq!(missing(&NEHALEM), expected);
        let no_bmi2 = Words {
            extended_ebx: HASWELL.extended_ebx & !(1 << 8),
            ..HASWELL
        };
        assert_eq!(
            missing(&no_bmi2),
            cfg!(target_feature = "bmi2").then_some("BMI2")
        );
        let no_lzcnt = Words {
            amd_ecx: 1,
            ..HASWELL
        };
        assert_eq!(
            missing(&no_lzcnt),
            cfg!(target_feature = "lzcnt").then_some("LZCNT")
        );
    }

    #[test]
    fn the_faster_build_requires_every_feature() {
        assert!(is_level_3(&HASWELL));
        assert!(!is_level_3(&NEHALEM));
        let no_bmi2 = Words {
            extended_ebx: HASWELL.extended_ebx & !(1 << 8),
            ..HASWELL
        };
        assert!(!is_level_3(&no_bmi2));
        assert_eq!(faster(), None, "there is none beside a test");
    }

    #[test]
    fn vector_registers_that_the_system_does_not_save_do_not_count() {
        let unsaved = Words {
            saved: 0b011,
            ..HASWELL
        };
        assert_eq!(
            missing(&unsaved),
            cfg!(target_feature = "avx").then_some("AVX")
        );
    }

    #[test]
    fn every_feature_can_be_missing() {
        for feature in &FEATURES {
            assert!((feature.had)(&HASWELL), "{}", feature.name);
            assert!(!(feature.had)(&Words::default()), "{}", feature.name);
        }
    }
}
