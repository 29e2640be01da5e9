//! Systems without walls: all except Linux.
//!
//! Programs run only if the configuration demands no property of the sandbox, and then as ordinary
//! processes of the user. This module only uses features of every Unix, so that its tests run on
//! Linux.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::process::Resource;

use crate::confinement::Confinement;
use crate::resources::{limit_cpu, lower_limit};
use crate::{
    Canary, EnclosedProcess, FileCalls, Jail, JailError, ProgramLimits, Property, Report,
    Requirement, SandboxedProcess, ScratchFolder, environment, signals,
};

/// A system on which onecall has no walls.
pub struct Unconfined;

/// The report of this system, which has no walls.
const NO_WALLS: Report = Report { walls: Vec::new(), file_calls: FileCalls::Allowed };

impl Confinement for Unconfined {
    type Isolation = ();

    fn check(requirement: &Requirement) -> Result<(), JailError> {
        let demanded: Vec<&str> = Property::ALL
            .into_iter()
            .filter(|property| requirement.demands(*property))
            .map(Property::prevented_actions)
            .collect();
        match demanded.is_empty() {
            true => Ok(()),
            false => Err(JailError::NoWalls {
                system: std::env::consts::OS,
                prevented_actions: demanded.join(", "),
            }),
        }
    }

    fn isolate(jail: &Jail) -> Result<(), JailError> {
        Self::check(&jail.requirement)?;
        environment::remove_allocator_setting();
        signals::reset();
        Ok(())
    }

    fn prepare(jail: &Jail, _: &(), _: &[BorrowedFd<'_>]) -> Result<SandboxedProcess, JailError> {
        Self::check(&jail.requirement)?;
        jail.enter_start_folder()?;
        Ok(SandboxedProcess { report: NO_WALLS, baseline: 0 })
    }

    fn enclose(jail: &Jail, _: &(), _: &[BorrowedFd<'_>]) -> Result<EnclosedProcess, JailError> {
        Self::check(&jail.requirement)?;
        jail.enter_start_folder()?;
        Ok(EnclosedProcess { report: NO_WALLS, filter: None, counted_user: None })
    }

    /// Limits processor time and the size of files. The address space is not limited, because not
    /// every system reports how much of it is in use.
    fn limit(_baseline: u64, limits: ProgramLimits) -> io::Result<()> {
        lower_limit(Resource::Fsize, limits.file_bytes)?;
        limit_cpu(limits.cpu_seconds)
    }

    /// No attempts, because there is no sandbox to escape from.
    fn canaries<'a>(_: &'a [BorrowedFd<'a>]) -> Vec<Canary<'a>> {
        Vec::new()
    }

    fn deadly_canary() {}

    fn make_scratch(_: ScratchFolder) -> io::Result<OwnedFd> {
        let reason = "a scratch folder needs the sandbox, and onecall has none on this system";
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }

    /// Does nothing: a worker whose zygote was killed exits when its program does.
    fn die_with_parent() -> io::Result<()> {
        Ok(())
    }

    /// Does nothing: the caller has to ensure that there is one thread.
    fn check_single_thread() -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JailMode;

    fn jail(mode: JailMode, without: &[Property]) -> Jail {
        let requirement = Requirement { mode, without: without.to_vec() };
        Jail { requirement, ..Jail::default() }
    }

    fn refusal(jail: &Jail) -> String {
        let isolated = Unconfined::isolate(jail).map_err(|error| error.to_string());
        let prepared = Unconfined::prepare(jail, &(), &[]).map_err(|error| error.to_string());
        let enclosed = Unconfined::enclose(jail, &(), &[]).map_err(|error| error.to_string());
        let refusal = isolated.unwrap_err();
        assert_eq!(prepared.unwrap_err(), refusal);
        assert_eq!(enclosed.unwrap_err(), refusal);
        refusal
    }

    #[test]
    fn whoever_demands_walls_is_refused_with_the_ways_out() {
        let ways_out = "; run onecall in WSL 2, in a Linux container or on a Linux machine, or run \
                        programs without any wall with `sandbox: off`";
        assert_eq!(
            refusal(&jail(JailMode::Required, &[])),
            format!(
                "onecall has no sandbox on linux: nothing would keep programs from reading and \
                 writing files, learning which files exist, reaching a network, seeing and \
                 signalling other processes, learning the names of this machine and its user, \
                 gaining privileges, seeing what the gateway has open and in its environment, \
                 exceeding their limits{ways_out}"
            )
        );
        assert_eq!(
            refusal(&jail(JailMode::BestEffort, &[])),
            format!(
                "onecall has no sandbox on linux: nothing would keep programs from reading and \
                 writing files, reaching a network, seeing and signalling other processes{ways_out}"
            )
        );
    }

    #[test]
    fn doing_without_some_properties_is_not_enough() {
        for property in Property::ALL {
            let all_but_one: Vec<Property> =
                Property::ALL.into_iter().filter(|other| *other != property).collect();
            let refusal = refusal(&jail(JailMode::Required, &all_but_one));
            assert!(refusal.contains(property.prevented_actions()), "{refusal}");
        }
    }

    #[test]
    fn without_demands_programs_run_behind_no_wall() {
        let off = jail(JailMode::Off, &[]);
        let prepared = Unconfined::prepare(&off, &(), &[]).unwrap();
        assert_eq!(prepared.report, NO_WALLS);
        let enclosed = Unconfined::enclose(&off, &(), &[]).unwrap();
        assert_eq!((enclosed.report, enclosed.filter), (NO_WALLS, None));
        assert_eq!(enclosed.counted_user, None);
        assert!(Unconfined::canaries(&[]).is_empty());
        assert!(Unconfined::make_scratch(ScratchFolder::of(1 << 20)).is_err());
    }
}
