// What every JavaScript client does with a program that needs approvals, the same as in
// scenario.py; the driver of each one says how it does it.

import { setTimeout as sleep } from "node:timers/promises";

const TOGETHER = `\
import asyncio
async def delete(path):
    try:
        return await mcp__files__delete(path=path)
    except ToolError as error:
        return error
for outcome in await asyncio.gather(delete("/PART/yes"), delete("/PART/no")):
    print(outcome)
`;

const IN_TURN = `\
for path in ["/PART/yes", "/PART/no"]:
    try:
        print(await mcp__files__delete(path=path))
    except ToolError as error:
        print(error)
`;

const WAITING = "[Script waiting for approval]\nrun: ";

// Twice as long as a request waits in the parts in which that matters.
const HESITATION_MS = 6_000;

/**
 * Sees forms, and does with each what `action` says: `accept` approves of every path that says yes,
 * `hesitate` approves of everything, but late, and the others are those of the protocol.
 */
class User {
  action = "accept";
  forms = [];
  answered = Promise.resolve();

  /** The answer to the parameters of a form. */
  answer(params) {
    return (this.answered = this.decide(params));
  }

  async decide({ message, requestedSchema: schema }) {
    this.forms.push({ message, schema });
    if (["decline", "cancel"].includes(this.action)) return { action: this.action };
    const isLate = this.action === "hesitate";
    if (isLate) await sleep(HESITATION_MS);
    const content = {};
    for (const [name, field] of Object.entries(schema.properties)) {
      if (name === "reason") continue;
      const call = field.title === "Decision" ? message : field.title;
      content[name] = isLate || call.includes("/yes") ? "approve" : "deny";
    }
    if (schema.properties.reason && Object.values(content).includes("deny")) {
      content.reason = "not today";
    }
    return { action: "accept", content };
  }

  /** The forms since the last time. */
  seen() {
    return this.forms.splice(0);
  }
}

const program = (code, part) => ({ code: code.replaceAll("PART", part) });

const answerOf = (result) => [
  result.content.map((block) => block.text).join("\n"),
  result.isError ?? false,
];

/**
 * The parts. `connect(user)` resolves to a client that has these:
 *
 * protocol: the revision that it has agreed on
 * call(params, options): a call of a tool, with the options of both SDKs
 * close()
 */
const PARTS = {
  /** The user decides about two calls at once, about one after the other, and declines a form. */
  async decisions(connect) {
    const user = new User();
    const client = await connect(user);
    const seen = { protocol: client.protocol };
    for (const [part, code, action] of [
      ["together", TOGETHER, "accept"],
      ["in_turn", IN_TURN, "accept"],
      ["declined", TOGETHER, "decline"],
    ]) {
      user.action = action;
      const call = { name: "execute_program", arguments: program(code, part) };
      const answer = answerOf(await client.call(call));
      seen[part] = { forms: user.seen(), answer };
    }
    await client.close();
    return seen;
  },

  closed: (connect) => later(connect, "cancel", "closed"),

  hesitating: (connect) => later(connect, "hesitate", "hesitating"),

  /** The client keeps the request state, and answers on another connection, more than once. */
  async by_hand(connect) {
    const user = new User();
    const call = { name: "execute_program", arguments: program(TOGETHER, "by_hand") };
    const first = await connect(user);
    const asked = await first.call(call, { allowInputRequired: true });
    await first.close();
    const [[key, form]] = Object.entries(asked.inputRequests);
    const { requestState } = asked;
    const client = await connect(user);
    const reply = async (answer) =>
      answerOf(await client.call({ ...call, inputResponses: { [key]: answer }, requestState }));
    const answer = await reply(await user.answer(form.params));
    // As if the response had been lost, and the user had changed their mind.
    const repeated = await reply({ action: "decline" });
    await client.close();
    return { protocol: client.protocol, forms: user.seen(), answer, repeated };
  },
};

/** The user does not answer the form in time, and decides when the agent asks for the result. */
async function later(connect, action, part) {
  const user = new User();
  user.action = action;
  const client = await connect(user);
  const call = { name: "execute_program", arguments: program(TOGETHER, part) };
  const [text, isError] = answerOf(await client.call(call));
  // What the user says now comes too late.
  await user.answered;
  const forms = user.seen();
  user.action = "accept";
  const run = text.startsWith(WAITING) ? text.slice(WAITING.length).split("\n")[0] : null;
  let answer = [text, isError];
  // On a busy machine, a form may be withdrawn before it is answered.
  while (answer[0].startsWith(WAITING)) {
    answer = answerOf(await client.call({ name: "continue_program", arguments: { run } }));
  }
  const first = [run ? text.replaceAll(run, "RUN") : text, isError];
  await client.close();
  return { protocol: client.protocol, forms, first, answer };
}

/**
 * Plays the part that the arguments name, and prints what the client saw; `connect(user, mode,
 * server)` as for the parts, where the server is an address or a list with a command.
 */
export async function main(connect) {
  const [part, mode, ...server] = process.argv.slice(2);
  setTimeout(() => process.exit(124), 100_000).unref();
  const where = server[0].startsWith("http:") ? server[0] : server;
  const seen = await PARTS[part]((user) => connect(user, mode, where));
  process.stdout.write(JSON.stringify(seen));
}
