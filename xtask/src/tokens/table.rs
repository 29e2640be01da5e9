//! The results as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::figures::{Figures, Prices, Traffic, saved};
use super::workflows::DATA_HEAVY;

/// The context window of most models in the field.
const WINDOW: usize = 200_000;

/// All tables. `others` are the results of models that make another number of calls at once.
pub fn render(figures: &[Figures], others: &[Figures], prices: Prices) -> String {
    let mut text = String::from("### In total\n\n");
    text.push_str(&render_totals(figures, prices));
    text.push_str("\n### Definitions\n\n");
    push_definitions(&mut text, figures);
    if !others.is_empty() {
        text.push_str("\n### Calls at once\n\n");
        push_turns(&mut text, figures, others, prices);
    }
    for (size, figures) in by_size(figures) {
        let _ = write!(text, "\n### {size} tools\n\n");
        push_workflows(&mut text, &figures, prices);
    }
    let _ = write!(
        text,
        "\n• data-heavy: tools answer with at least {} tokens.  \n\
         † the longest request has more than {} tokens, which many models cannot read.\n",
        grouped(DATA_HEAVY),
        grouped(WINDOW),
    );
    text
}

/// The table of totals.
pub fn render_totals(figures: &[Figures], prices: Prices) -> String {
    let mut text = total_heading("tools | workflows");
    for (size, figures) in by_size(figures) {
        push_total(&mut text, &format!("{size} | all {}", figures.len()), &figures, prices);
        let heavy: Vec<&Figures> =
            figures.into_iter().filter(|figures| figures.workflow.is_data_heavy).collect();
        if !heavy.is_empty() {
            push_total(&mut text, &format!("{size} | {} data-heavy", heavy.len()), &heavy, prices);
        }
    }
    text
}

fn by_size(figures: &[Figures]) -> BTreeMap<usize, Vec<&Figures>> {
    let mut sizes: BTreeMap<usize, Vec<&Figures>> = BTreeMap::new();
    for figures in figures {
        sizes.entry(figures.tools).or_default().push(figures);
    }
    sizes
}

/// The effect of the number of calls that a model makes at once.
fn push_turns(text: &mut String, figures: &[Figures], others: &[Figures], prices: Prices) {
    let mut turns: BTreeMap<(usize, usize), Vec<&Figures>> = BTreeMap::new();
    let comparable =
        figures.iter().filter(|one| others.iter().any(|other| other.tools == one.tools));
    for figures in others.iter().chain(comparable) {
        turns.entry((figures.calls_per_turn, figures.tools)).or_default().push(figures);
    }
    text.push_str(&total_heading("calls at once | tools"));
    for ((calls, tools), figures) in turns {
        push_total(text, &format!("{calls} | {tools}"), &figures, prices);
    }
}

/// The heading of a table of totals that begins with these two columns.
fn total_heading(columns: &str) -> String {
    format!(
        "| {columns} | direct | onecall | saved | each token once | round trips | price | with a prompt cache |\n\
         |--:|---|--:|--:|--:|--:|--:|--:|--:|\n"
    )
}

fn push_total(text: &mut String, name: &str, figures: &[&Figures], prices: Prices) {
    let count = |of: fn(&Traffic) -> usize| {
        let sum =
            |way: fn(&Figures) -> &Traffic| figures.iter().map(|one| of(way(one))).sum::<usize>();
        (sum(|one| &one.direct), sum(|one| &one.onecall))
    };
    let dollars = |of: fn(&Traffic, Prices) -> f64| {
        let sum = |way: fn(&Figures) -> &Traffic| {
            figures.iter().map(|one| of(way(one), prices)).sum::<f64>()
        };
        format!("${:.2} → ${:.2}", sum(|one| &one.direct), sum(|one| &one.onecall))
    };
    let (tokens, once) = (count(Traffic::tokens), count(Traffic::distinct_tokens));
    let trips = count(|traffic| traffic.requests.len());
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {} | {} | {} → {} | {} | {} |",
        grouped(tokens.0),
        grouped(tokens.1),
        percent(tokens),
        change(once),
        trips.0,
        trips.1,
        dollars(Traffic::price),
        dollars(Traffic::price_cached),
    );
}

/// The tokens of tool definitions, which are part of every request.
fn push_definitions(text: &mut String, figures: &[Figures]) {
    text.push_str("| tools | direct | onecall | fewer |\n|--:|--:|--:|--:|\n");
    for (size, figures) in by_size(figures) {
        let mean = |of: fn(&Figures) -> usize| {
            figures.iter().map(|one| of(one)).sum::<usize>() / figures.len().max(1)
        };
        let pair = (mean(|one| one.direct.fixed_tokens), mean(|one| one.onecall.fixed_tokens));
        let _ = writeln!(
            text,
            "| {size} | {} | {} | {} |",
            grouped(pair.0),
            grouped(pair.1),
            percent(pair)
        );
    }
}

fn push_workflows(text: &mut String, figures: &[&Figures], prices: Prices) {
    text.push_str(
        "| workflow | direct | onecall | saved | each token once | round trips | calls of the model | price | tool work |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for Figures { workflow, direct, onecall, .. } in figures {
        let tokens = (direct.tokens(), onecall.tokens());
        let once = (direct.distinct_tokens(), onecall.distinct_tokens());
        let heavy = if workflow.is_data_heavy { " •" } else { "" };
        let beyond = if direct.longest() > WINDOW { " †" } else { "" };
        let _ = writeln!(
            text,
            "| {}{heavy} | {}{beyond} | {} | {} | {} | {} → {} | {} → {} | ${:.3} → ${:.3} | {} → {} |",
            workflow.name,
            grouped(tokens.0),
            grouped(tokens.1),
            percent(tokens),
            change(once),
            direct.requests.len(),
            onecall.requests.len(),
            direct.calls,
            onecall.calls,
            direct.price(prices),
            onecall.price(prices),
            time(direct.seconds),
            time(onecall.seconds),
        );
    }
}

/// Both counts and the share that is saved.
fn change((direct, ours): (usize, usize)) -> String {
    format!("{} → {}, {}", grouped(direct), grouped(ours), percent((direct, ours)))
}

/// A share with one decimal; says so if direct calls cost less.
fn percent((direct, ours): (usize, usize)) -> String {
    let share = saved(direct, ours);
    if share < 0.0 {
        return format!("**direct is {:.1}% cheaper**", saved(ours, direct));
    }
    // Rounded down, so that 99.97 does not become 100.
    format!("{:.1}%", (share * 10.0).floor() / 10.0)
}

fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// A number with a comma between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::conversation::Request;
    use super::super::workflows::WORKFLOWS;
    use super::*;

    fn traffic(requests: &[(usize, usize)]) -> Traffic {
        let requests =
            requests.iter().map(|(context, output)| Request { context: *context, output: *output });
        Traffic {
            requests: requests.collect(),
            fixed_tokens: 600,
            results: 0,
            calls: 1,
            seconds: 0.25,
        }
    }

    #[test]
    fn tables_say_where_direct_calls_are_cheaper_and_what_no_model_can_read() {
        let figures = |workflow: usize, calls_per_turn, direct: &[_], onecall: &[_]| Figures {
            workflow: &WORKFLOWS[workflow],
            tools: 30,
            calls_per_turn,
            direct: traffic(direct),
            onecall: traffic(onecall),
        };
        let usual = [
            figures(0, 5, &[(6_000, 400), (250_000, 20)], &[(1_000, 300), (1_500, 20)]),
            figures(11, 5, &[(600, 20), (700, 20)], &[(700, 100), (900, 20)]),
        ];
        let others = [figures(0, 1, &[(6_000, 400), (7_000, 20)], &[(1_000, 300)])];
        insta::assert_snapshot!(render(&usual, &others, Prices::default()));
    }
}
