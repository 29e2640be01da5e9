//! The program of a filter, which the kernel runs before each system call.
//!
//! It finds the system call by halving, in about eight steps. The kernel compiles the program for every process that
//! installs it, and tries all system calls then, so a short program with short ways saves much of the time that
//! a worker takes to start.

use std::collections::BTreeMap;
use std::io;
use std::mem::offset_of;

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, seccomp_data, sock_filter,
};
use rustix::io::Errno;

use super::conditions::Condition;

/// What the kernel calls the processor's architecture. The numbers of system calls differ between them.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// What the kernel does with a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    /// The call returns this error.
    Fail(Errno),
    /// The call returns zero and does nothing.
    ReturnZero,
    /// The process ends.
    Kill,
}

impl Verdict {
    fn number(self) -> u32 {
        match self {
            Self::Allow => SECCOMP_RET_ALLOW,
            Self::Fail(errno) => SECCOMP_RET_ERRNO | errno.raw_os_error().unsigned_abs(),
            Self::ReturnZero => SECCOMP_RET_ERRNO,
            Self::Kill => SECCOMP_RET_KILL_PROCESS,
        }
    }
}

/// What becomes of one system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// The first of these counts whose conditions all hold.
    pub(super) exceptions: Vec<(Vec<Condition>, Verdict)>,
    pub(super) otherwise: Verdict,
}

impl From<Verdict> for Decision {
    fn from(otherwise: Verdict) -> Self {
        Self { exceptions: Vec::new(), otherwise }
    }
}

/// The decisions about system calls by number. All others get `otherwise`.
pub(super) fn compile(
    decisions: &BTreeMap<u32, Decision>,
    otherwise: Verdict,
) -> io::Result<Vec<sock_filter>> {
    let mut program = vec![
        load(offset_of!(seccomp_data, arch)),
        jump(BPF_JEQ, ARCHITECTURE, 1, 0),
        return_verdict(Verdict::Kill),
        load(offset_of!(seccomp_data, nr)),
    ];
    program.extend(search(&ranges(decisions, &otherwise.into()))?);
    Ok(program)
}

/// The first number of each range with one decision, and that decision. The first range begins at zero, and each
/// ends where the next one begins.
fn ranges<'a>(
    decisions: &'a BTreeMap<u32, Decision>,
    otherwise: &'a Decision,
) -> Vec<(u32, &'a Decision)> {
    let mut ranges = vec![(0, otherwise)];
    for (number, decision) in decisions {
        ranges.push((*number, decision));
        ranges.push((number + 1, otherwise));
    }
    // Of two ranges that begin at the same number, the first one is empty.
    ranges.reverse();
    ranges.dedup_by_key(|(first, _)| *first);
    ranges.reverse();
    ranges.dedup_by_key(|(_, decision)| *decision);
    ranges
}

/// Instructions that find the range of the loaded number, and decide.
fn search(ranges: &[(u32, &Decision)]) -> io::Result<Vec<sock_filter>> {
    let (lower, upper) = ranges.split_at(ranges.len() / 2);
    match (lower, upper) {
        ([], [(_, decision)]) => decide(decision),
        ([_, ..], [(first, _), ..]) => {
            let (lower, upper) = (search(lower)?, search(upper)?);
            // A conditional jump reaches 255 instructions only.
            let distance = u32::try_from(lower.len()).map_err(io::Error::other)?;
            let mut program = match u8::try_from(distance) {
                Ok(distance) => vec![jump(BPF_JGE, *first, distance, 0)],
                Err(_) => {
                    vec![jump(BPF_JGE, *first, 0, 1), instruction(BPF_JMP | BPF_JA, distance)]
                }
            };
            program.extend(lower);
            program.extend(upper);
            Ok(program)
        }
        _ => Err(io::Error::other("a filter without a decision")),
    }
}

/// Instructions for a system call that was found.
fn decide(decision: &Decision) -> io::Result<Vec<sock_filter>> {
    let mut program = Vec::new();
    for (conditions, verdict) in &decision.exceptions {
        // Built from its end, where the distance to what follows is known.
        let mut reversed = vec![return_verdict(*verdict)];
        for condition in conditions.iter().rev() {
            let distance = u8::try_from(reversed.len()).map_err(io::Error::other)?;
            let (equal, different) = if condition.is_equal { (0, distance) } else { (distance, 0) };
            reversed.push(jump(BPF_JEQ, condition.value, equal, different));
            if condition.mask != u32::MAX {
                reversed.push(instruction(BPF_ALU | BPF_AND | BPF_K, condition.mask));
            }
            reversed.push(load(condition.offset()));
        }
        program.extend(reversed.into_iter().rev());
    }
    program.push(return_verdict(decision.otherwise));
    Ok(program)
}

fn load(offset: usize) -> sock_filter {
    // The structure has 64 bytes.
    instruction(BPF_LD | BPF_W | BPF_ABS, u32::try_from(offset).unwrap_or(u32::MAX))
}

fn return_verdict(verdict: Verdict) -> sock_filter {
    instruction(BPF_RET | BPF_K, verdict.number())
}

fn jump(comparison: u32, value: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter { jt: if_true, jf: if_false, ..instruction(BPF_JMP | comparison | BPF_K, value) }
}

fn instruction(code: u32, operand: u32) -> sock_filter {
    // The codes are numbers of one byte.
    sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt: 0, jf: 0, k: operand }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_ARGUMENTS: [u64; 6] = [0; 6];

    /// What a program returns for a system call.
    fn run(program: &[sock_filter], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut data = [number, architecture, 0, 0].map(u32::to_ne_bytes).concat();
        data.extend(arguments.into_iter().flat_map(u64::to_ne_bytes));
        let word = |offset: u32| {
            let offset = usize::try_from(offset).unwrap();
            u32::from_ne_bytes(data[offset..offset + 4].try_into().unwrap())
        };
        let (mut accumulator, mut position) = (0, 0);
        loop {
            let it = program[position];
            let branch = |holds| usize::from(if holds { it.jt } else { it.jf });
            position += 1;
            match u32::from(it.code) {
                code if code == BPF_LD | BPF_W | BPF_ABS => accumulator = word(it.k),
                code if code == BPF_ALU | BPF_AND | BPF_K => accumulator &= it.k,
                code if code == BPF_JMP | BPF_JA => position += usize::try_from(it.k).unwrap(),
                code if code == BPF_JMP | BPF_JEQ | BPF_K => {
                    position += branch(accumulator == it.k)
                }
                code if code == BPF_JMP | BPF_JGE | BPF_K => {
                    position += branch(accumulator >= it.k)
                }
                code if code == BPF_RET | BPF_K => return it.k,
                code => panic!("an instruction with the code {code}"),
            }
        }
    }

    fn verdict(decisions: &[(u32, Decision)], number: u32, arguments: [u64; 6]) -> u32 {
        let decisions = decisions.iter().cloned().collect();
        let program = compile(&decisions, Verdict::Fail(Errno::PERM)).unwrap();
        run(&program, ARCHITECTURE, number, arguments)
    }

    fn exception(conditions: Vec<Condition>, verdict: Verdict) -> Decision {
        Decision { exceptions: vec![(conditions, verdict)], otherwise: Verdict::Kill }
    }

    #[test]
    fn each_call_gets_its_own_verdict_and_all_others_the_general_one() {
        let general = SECCOMP_RET_ERRNO | 1;
        let verdicts =
            [Verdict::Allow, Verdict::ReturnZero, Verdict::Kill, Verdict::Fail(Errno::NOSYS)];
        // Neighbours with the same and with different verdicts, gaps, both ends, and long jumps.
        for step in [1, 2, 3, 7] {
            let numbers = (0..400 * step).step_by(step as usize);
            let decisions: Vec<(u32, Decision)> =
                numbers.map(|number| (number, verdicts[number as usize / 5 % 4].into())).collect();
            let table: BTreeMap<u32, Decision> = decisions.iter().cloned().collect();
            let program = compile(&table, Verdict::Fail(Errno::PERM)).unwrap();
            for number in (0..400 * step + 2).chain([0x4000_0000, 0x4000_0001, u32::MAX]) {
                let expected = table.get(&number).map_or(general, |it| it.otherwise.number());
                assert_eq!(run(&program, ARCHITECTURE, number, NO_ARGUMENTS), expected, "{number}");
            }
        }
    }

    #[test]
    fn calls_of_another_architecture_kill() {
        let decisions = BTreeMap::from([(1, Verdict::Allow.into())]);
        let program = compile(&decisions, Verdict::Allow).unwrap();
        let i386 = 0x4000_0003;
        assert_eq!(run(&program, i386, 1, NO_ARGUMENTS), SECCOMP_RET_KILL_PROCESS);
        assert_eq!(run(&program, ARCHITECTURE, 1, NO_ARGUMENTS), SECCOMP_RET_ALLOW);
    }

    #[test]
    fn an_exception_needs_all_its_conditions() {
        let conditions = vec![
            Condition::masked(2, 0b110, 0b100),
            Condition::different(0, 5),
            Condition::equal(1, 7),
        ];
        let decisions = [(3, exception(conditions, Verdict::Allow))];
        let allowed = |arguments| verdict(&decisions, 3, arguments) == SECCOMP_RET_ALLOW;
        assert!(allowed([1, 7, 0b101, 0, 0, 0]));
        // The upper half of an argument does not count, as in the kernel.
        assert!(allowed([1 << 32, 7 | 1 << 40, 0b100 | 1 << 33, 9, 9, 9]));
        for refused in [[5, 7, 0b101, 0, 0, 0], [1, 6, 0b101, 0, 0, 0], [1, 7, 0b111, 0, 0, 0]] {
            assert_eq!(verdict(&decisions, 3, refused), SECCOMP_RET_KILL_PROCESS, "{refused:?}");
        }
        assert_eq!(verdict(&decisions, 4, [1, 7, 0b101, 0, 0, 0]), SECCOMP_RET_ERRNO | 1);
    }

    #[test]
    fn a_null_pointer_is_null_in_both_halves() {
        let decisions = [(9, exception(Condition::null(4).to_vec(), Verdict::Allow))];
        let with_pointer = |pointer| verdict(&decisions, 9, [1, 1, 1, 1, pointer, 1]);
        assert_eq!(with_pointer(0), SECCOMP_RET_ALLOW);
        for pointer in [1, 1 << 31, 1 << 32, u64::MAX] {
            assert_eq!(with_pointer(pointer), SECCOMP_RET_KILL_PROCESS, "{pointer:x}");
        }
    }

    #[test]
    fn the_first_exception_counts() {
        let exceptions = vec![
            (vec![Condition::equal(0, 1)], Verdict::Fail(Errno::NOSYS)),
            (vec![Condition::masked(0, 1, 1)], Verdict::Allow),
        ];
        let decisions = [(5, Decision { exceptions, otherwise: Verdict::Fail(Errno::PERM) })];
        let with = |argument| verdict(&decisions, 5, [argument, 0, 0, 0, 0, 0]);
        assert_eq!(
            [with(1), with(3), with(2)],
            [SECCOMP_RET_ERRNO | 38, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | 1]
        );
    }
}
