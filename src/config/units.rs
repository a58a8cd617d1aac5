//! Serde for settings with a unit: a whole number in the file, a typed value in the program.
//!
//! TOML has no null, so 0 or an empty text means "not set" where that makes sense.

use std::marker::PhantomData;

use serde::{Deserializer, Serializer};
use serde_with::{
    As, DeserializeAs, DurationMilliSeconds, DurationSeconds, NoneAsEmptyString, Same, SerializeAs,
};

/// A time in whole seconds.
pub(super) type Seconds = As<DurationSeconds<u64>>;
/// A time in whole milliseconds.
pub(super) type Millis = As<DurationMilliSeconds<u64>>;
/// A value written as text, empty for none.
pub(super) type EmptyIsNone = As<NoneAsEmptyString>;
/// A time limit in whole milliseconds, 0 for none.
pub(super) type MillisLimit = As<DefaultIsNone<DurationMilliSeconds<u64>>>;
/// A path, empty for none.
pub(super) type PathOrNone = As<DefaultIsNone<Same>>;

/// A value whose default stands for none.
pub(super) struct DefaultIsNone<U>(PhantomData<U>);

impl<T: Clone + Default, U: SerializeAs<T>> SerializeAs<Option<T>> for DefaultIsNone<U> {
    fn serialize_as<S: Serializer>(value: &Option<T>, out: S) -> Result<S::Ok, S::Error> {
        U::serialize_as(&value.clone().unwrap_or_default(), out)
    }
}

impl<'de, T, U> DeserializeAs<'de, Option<T>> for DefaultIsNone<U>
where
    T: Default + PartialEq,
    U: DeserializeAs<'de, T>,
{
    fn deserialize_as<D: Deserializer<'de>>(input: D) -> Result<Option<T>, D::Error> {
        let value = U::deserialize_as(input)?;
        Ok(Some(value).filter(|value| *value != T::default()))
    }
}

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
