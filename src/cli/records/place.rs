//! Where the archive is, and what it means when it cannot be used.

use std::path::PathBuf;

use megaton::archive::{ArchiveError, ArchiveReader, FILE_NAME};

use crate::cli::failure::Failure;
use crate::cli::setup::ConfigArgs;

/// Which archive.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ArchiveArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Archive file to read, such as a backup, instead of the config's
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
}

/// An archive's file and the server whose games it holds.
#[derive(Debug)]
pub(super) struct ArchiveLocation {
    pub(super) path: PathBuf,
    pub(super) site: String,
}

impl ArchiveArgs {
    pub(super) fn place(&self) -> Result<ArchiveLocation, Failure> {
        let (config, _) = self.config.load()?;
        let home = || config.data.home(&config.lichess);
        let path = match &self.archive {
            Some(path) => path.clone(),
            None => match home() {
                Some(home) => home.join(FILE_NAME),
                None => {
                    return Err(Failure::setup(
                        "[data] folder is empty: nothing is stored, so there is no archive",
                    ));
                }
            },
        };
        let site = config.lichess.url;
        Ok(ArchiveLocation { path, site })
    }

    pub(super) fn open(&self) -> Result<(ArchiveReader, ArchiveLocation), Failure> {
        let place = self.place()?;
        Ok((ArchiveReader::open(&place.path)?, place))
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        if error.may_pass() {
            Self::Failed(error.into())
        } else {
            Self::Setup(error.into())
        }
    }
}
