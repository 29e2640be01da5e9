// What every TypeScript client does with a onecall that requires a login; see `scenario.py`.

import { createInterface } from "node:readline";

const REDIRECT = "http://127.0.0.1:8719/callback";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

/** The client's side of the login, which keeps what it knows for as long as the process runs. */
class Login {
  redirectUrl = REDIRECT;
  clientMetadata = {
    client_name: "interop",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  clientInformation = () => this.client;
  saveClientInformation = (client) => (this.client = client);
  tokens = () => this.granted;
  saveTokens = (tokens) => (this.granted = tokens);
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => (this.verifier = verifier);
  redirectToAuthorization = (url) => say({ open: url.href });
}

/**
 * Connects twice, since the first attempt ends with the login. `connect(url, login)` returns a client,
 * its transport, and a function that ends the login with the fields that the browser came back with.
 */
export async function main(connect) {
  const url = new URL(process.argv[2]);
  const login = new Login();
  const first = connect(url, login);
  const refused = await first.client.connect(first.transport).catch((error) => error);
  if (refused?.constructor.name !== "UnauthorizedError") throw refused ?? new Error("no login was needed");
  const returned = new URL((await lines.next()).value).searchParams;
  await first.finish(returned);
  const { client, transport } = connect(url, login);
  await client.connect(transport);
  const seen = await play(client);
  await client.close();
  await first.client.close();
  say({ seen });
  process.stdin.destroy();
}

async function play(client) {
  const call = async (name, given) => {
    const { content, isError } = await client.callTool({ name, arguments: given });
    return [content.map(({ text }) => text).join("\n"), isError ?? false];
  };
  const run = (code) => call("execute_program", { code });
  return {
    callable: (await call("list_callable_tools", {}))[0],
    add: await run("print(await mcp__fixture__add(20, 22))"),
    echo: await run("print(await mcp__fixture__echo('hi'))"),
  };
}
