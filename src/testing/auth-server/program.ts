// The lab as a program: `node program.js ['{"auth":{…},"server":{…}}']`. Prints where it is, obeys lines on stdin, ends with it.
import { createInterface } from "node:readline";
import { messageOf } from "../../base/errors.js";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";
import { checkedAuth, checkedServer } from "./check-options.js";
import { ProtectedServer } from "./protected-server.js";
import { AuthServer } from "./server.js";

const USAGE_EXIT_CODE = 2;

function print(value: JsonObject): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function objectFrom(text: string): JsonObject {
  const parsed = parseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) throw new Error(`not a JSON object: ${text}`);
  return parsed.value;
}

/** One line in, one line out. */
function obey(command: JsonObject, auth: AuthServer, server: ProtectedServer): JsonObject {
  switch (command["do"]) {
    case "expire":
      auth.expireTokens();
      return { done: "expire" };
    case "revoke":
      auth.revokeTokens();
      return { done: "revoke" };
    case "script":
      if (command["auth"] !== undefined) auth.script(checkedAuth(command["auth"]));
      if (command["server"] !== undefined) server.script(checkedServer(command["server"]));
      return { done: "script" };
    case "log": {
      const { refreshCount, reuseCount } = auth;
      const requests = auth.records.map(({ endpoint, path, answer }) => ({
        endpoint,
        path,
        status: answer?.status ?? 0,
        error: answer?.detail ?? "",
      }));
      const admissions = server.admissions.map(({ account, tool = "" }) => ({ account, tool }));
      return {
        refreshCount,
        reuseCount,
        requests,
        admissions,
        turned: server.turned.map(({ status, why }) => ({ status, why })),
      };
    }
    default:
      return { error: "expire, revoke, script or log" };
  }
}

async function serve(text: string): Promise<void> {
  const { auth: authOptions = {}, server: serverOptions = {} } = objectFrom(text);
  await using auth = await AuthServer.start(checkedAuth(authOptions));
  await using server = await ProtectedServer.start({ ...checkedServer(serverOptions), authServers: [auth] });
  print({ issuer: auth.issuer, url: server.url, allowHost: auth.host });
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() !== "") print(obey(objectFrom(line), auth, server));
  }
}

try {
  await serve(process.argv[2] ?? "{}");
} catch (error) {
  process.stderr.write(`auth lab: ${messageOf(error)}\n`);
  process.exitCode = USAGE_EXIT_CODE;
}
