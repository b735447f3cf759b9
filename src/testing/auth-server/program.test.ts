// The lab as a program of its own: says where it is, obeys its input, ends with it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json/json.js";

const PROGRAM = fileURLToPath(new URL("./program.ts", import.meta.url));

function start(options: string): ReturnType<typeof spawn> {
  return spawn(process.execPath, ["--import", "tsx", PROGRAM, options], { stdio: ["pipe", "pipe", "pipe"] });
}

test("it says where it is, follows a script, tells what it saw, and ends with its input", async () => {
  const child = start('{"server":{"scopes":["mcp"]}}');
  if (!child.stdout || !child.stdin) throw new Error("no pipes");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<JsonObject> => {
    const { value } = await lines.next();
    const parsed = parseJson(String(value));
    return parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  };
  const { issuer, url } = await next();
  const response = await fetch(String(url), { method: "POST", body: "{}" });
  expect(response.status).toBe(401);
  expect(response.headers.get("www-authenticate")).toContain('scope="mcp"');
  await response.arrayBuffer();
  child.stdin.write('{"do":"script","auth":{"scopes":["a"]}}\n');
  expect(await next()).toEqual({ done: "script" });
  const metadata = await fetch(`${String(issuer)}/.well-known/oauth-authorization-server`);
  expect(await metadata.json()).toMatchObject({ issuer, scopes_supported: ["a"] });
  child.stdin.end('{"do":"log"}\n');
  expect(await next()).toMatchObject({ requests: [{ endpoint: "metadata", status: 200 }], turned: [{ status: 401 }] });
  const [code]: unknown[] = await once(child, "exit");
  expect(code).toBe(0);
});

test("a misspelt option is named, and nothing is started", async () => {
  const child = start('{"auth":{"acount":"bob"}}');
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const [code]: unknown[] = await once(child, "close");
  expect(code).toBe(2);
  expect(said).toContain("auth.acount: no such field");
});
