// What is remembered of a server is found again by what it is, and not by its secrets.

import fc from "fast-check";
import { expect, test } from "vitest";
import { launchFingerprint, type RemoteSpec, type ServerSpec, type StdioSpec } from "./spec.js";

const local: StdioSpec = { kind: "stdio", name: "a", command: "node", args: ["s.js"], env: { TOKEN: "1", A: "2" } };
const remote: RemoteSpec = {
  kind: "http",
  name: "a",
  url: "https://x.test/mcp",
  headers: { Authorization: "Bearer 1" },
};
const SANDBOX = { mode: "workspace", network: false } as const;
const bearer = (token: string) => ({ type: "bearer", token }) as const;

test.each<[string, ServerSpec, ServerSpec]>([
  ["the name", local, { ...local, name: "b" }],
  ["values of variables and their order", local, { ...local, env: { A: "9", TOKEN: "other" } }],
  ["the directory", local, { ...local, cwd: "/elsewhere" }],
  ["the sandbox", local, { ...local, sandbox: SANDBOX }],
  ["values of headers and the case of their names", remote, { ...remote, headers: { authorization: "Bearer 2" } }],
  ["the token", { ...remote, auth: bearer("1") }, { ...remote, auth: bearer("2") }],
  ["a password in the address", remote, { ...remote, url: "https://me:secret@x.test/mcp" }],
  ["a note", remote, { ...remote, note: "n" }],
])("what is remembered does not depend on %s", (_, one, other) => {
  expect(launchFingerprint(one)).toBe(launchFingerprint(other));
});

test.each<[string, ServerSpec, ServerSpec]>([
  ["the command", local, { ...local, command: "deno" }],
  ["the arguments", local, { ...local, args: ["s.js", "-v"] }],
  ["where one argument ends", { ...local, args: ["a b"] }, { ...local, args: ["a", "b"] }],
  ["the names of variables", local, { ...local, env: { TOKEN: "1" } }],
  ["the address", remote, { ...remote, url: "https://x.test/other" }],
  ["the transport", remote, { ...remote, kind: "sse" }],
  ["the names of headers", remote, { ...remote, headers: {} }],
  ["whether there is a token", remote, { ...remote, auth: bearer("1") }],
])("what is remembered depends on %s", (_, one, other) => {
  expect(launchFingerprint(one)).not.toBe(launchFingerprint(other));
});

test("any spec has a fingerprint in hex", () => {
  const text = fc.string();
  const spec = fc.oneof(
    fc.record({
      kind: fc.constant("stdio" as const),
      name: text,
      command: text,
      args: fc.array(text),
      env: fc.dictionary(text, text),
    }),
    fc.record({
      kind: fc.constant("http" as const),
      name: text,
      url: fc.oneof(text, fc.webUrl()),
      headers: fc.dictionary(text, text),
    }),
  );
  fc.assert(
    fc.property(spec, (given) => {
      expect(launchFingerprint(given)).toMatch(/^[0-9a-f]{64}$/);
    }),
  );
});
