//! Serde for settings with a unit: a whole number in the file, a typed value in the program.
//!
//! TOML has no null, so 0 or an empty text means "not set" where that makes sense.

use serde_with::{As, DurationMilliSeconds, DurationSeconds, NoneAsEmptyString};

/// A time in whole seconds.
pub(super) type Seconds = As<DurationSeconds<u64>>;
/// A time in whole milliseconds.
pub(super) type Millis = As<DurationMilliSeconds<u64>>;
/// A value written as text, empty for none.
pub(super) type EmptyIsNone = As<NoneAsEmptyString>;

/// A time in whole minutes.
pub(super) mod minutes {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::config) fn serialize<S: Serializer>(
        time: &Duration,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.serialize_u64(time.as_secs() / 60)
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(input).map(|minutes| Duration::from_secs(minutes.saturating_mul(60)))
    }
}

/// A time limit in whole milliseconds, 0 for none.
pub(super) mod millis_limit {
    use std::time::Duration;

    use serde::{Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "the shape that serde calls")]
    pub(in crate::config) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        super::Millis::serialize(&time.unwrap_or_default(), out)
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Option<Duration>, D::Error> {
        super::Millis::deserialize(input).map(|time: Duration| (!time.is_zero()).then_some(time))
    }
}

/// A limit in whole numbers, 0 for none.
pub(super) mod limit {
    use std::num::NonZeroU64;

    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "the shape that serde calls"
    )]
    pub(in crate::config) fn serialize<S: Serializer>(
        limit: &Option<NonZeroU64>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.serialize_u64(limit.map_or(0, NonZeroU64::get))
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Option<NonZeroU64>, D::Error> {
        u64::deserialize(input).map(NonZeroU64::new)
    }
}

/// A path, empty for none.
pub(super) mod path {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "the shape that serde calls")]
    pub(in crate::config) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        path.clone().unwrap_or_default().serialize(out)
    }

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(
        input: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        PathBuf::deserialize(input).map(|path| Some(path).filter(|path| path.as_os_str() != ""))
    }
}
