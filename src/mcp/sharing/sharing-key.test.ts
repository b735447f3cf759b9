// The key of a shared connection: the same for the same, another one for whatever differs, also for options nobody thought of.
import { expect, test } from "vitest";
import { SPEC } from "../../../test/pool-bench.js";
import { fakeWorld } from "../../testing/index.js";
import type { GrantStore } from "../auth/port.js";
import type { ConnectionOptions } from "../connection/options.js";
import type { RemoteSpec, ServerSpec } from "../spec.js";
import { sharingKey } from "./server-pool.js";

const world = fakeWorld();
const client = { name: "t", version: "1" };
const options: ConnectionOptions = { world, cwd: "/project", client };
const remote: RemoteSpec = { kind: "http", name: "r", url: "https://x.test/mcp", headers: { a: "1" } };
const refuse = (): never => {
  throw new Error("not asked");
};
const store = (): GrantStore => ({
  read: refuse,
  find: refuse,
  update: refuse,
  readClient: refuse,
  writeClient: refuse,
});
const kept = store();

test.each<[string, ServerSpec, Partial<ConnectionOptions>]>([
  ["the session", SPEC, { session: "another" }],
  ["who answers, where they can answer the same", SPEC, { peer: {} }],
  ["where stderr goes", SPEC, { onStderr: () => {} }],
  ["the directory, for a server elsewhere", remote, { cwd: "/elsewhere" }],
  ["the order of what is said", SPEC, { client: { version: "1", name: "t" } }],
])("it does not depend on %s", (_, spec, given) => {
  expect(sharingKey(spec, { ...options, ...given })).toBe(sharingKey(spec, options));
});

test.each<[string, ServerSpec, Partial<ConnectionOptions>]>([
  ["the directory", SPEC, { cwd: "/elsewhere" }],
  ["the roots", SPEC, { peer: { roots: () => [{ uri: "file:///x" }] } }],
  ["what can be answered", SPEC, { peer: { elicit: refuse } }],
  ["in which ways", SPEC, { peer: { elicit: refuse, elicitModes: ["form"] } }],
  ["limits", SPEC, { limits: { callsPerMinute: Number.POSITIVE_INFINITY } }],
  ["the account", remote, { oauth: { store: kept, account: "b", settings: {} } }],
])("it depends on %s", (_, spec, given) => {
  expect(sharingKey(spec, { ...options, ...given })).not.toBe(sharingKey(spec, options));
});

const SANDBOX = { mode: "workspace", network: false } as const;
const boxed: ServerSpec = { ...SPEC, sandbox: SANDBOX };

test("every secret and word of the spec counts", () => {
  const specs: readonly ServerSpec[] = [
    SPEC,
    { ...SPEC, name: "t" },
    { ...SPEC, command: "/bin/other" },
    { ...SPEC, cwd: "/x" },
    { ...SPEC, env: { TOKEN: "1" } },
    { ...SPEC, env: { TOKEN: "2" } },
    { ...SPEC, args: ["a b"] },
    { ...SPEC, args: ["a", "b"] },
    boxed,
    { ...boxed, sandbox: { ...SANDBOX, mode: "read-only" } },
    { ...boxed, sandbox: { ...SANDBOX, network: true } },
    { ...boxed, sandbox: { ...SANDBOX, directories: ["/x"] } },
    { ...boxed, sandbox: { ...SANDBOX, read: ["/x"] } },
    { ...boxed, sandbox: { ...SANDBOX, write: ["/x"] } },
    remote,
    { ...remote, kind: "sse" },
    { ...remote, headers: { a: "2" } },
    { ...remote, auth: { type: "bearer", token: "t" } },
    { ...remote, auth: { type: "bearer", token: "u" } },
    { ...remote, url: "https://me:secret@x.test/mcp" },
    { ...remote, url: "https://me:other@x.test/mcp" },
  ];
  expect(new Set(specs.map((spec) => sharingKey(spec, options))).size).toBe(specs.length);
});

test("an option nobody thought of counts too: data by what it says, anything else by which one it is", () => {
  const keyWith = (value: unknown) => sharingKey(SPEC, Object.assign({ future: value }, options));
  expect(keyWith({ a: [1, { b: true }] })).toBe(keyWith({ a: [1, { b: true }] }));
  expect(keyWith({ a: [1] })).not.toBe(keyWith({ a: [2] }));
  const one = new Map();
  expect(keyWith(one)).toBe(keyWith(one));
  expect(keyWith(one)).not.toBe(keyWith(new Map()));
  expect(keyWith(() => 1)).not.toBe(keyWith(() => 1));
});

test("log-ins are shared by account and by where they are kept", () => {
  const keyOf = (store: GrantStore, account: string) =>
    sharingKey(remote, { ...options, oauth: { store, account, settings: {} } });
  expect(keyOf(kept, "a")).toBe(keyOf(kept, "a"));
  expect(keyOf(kept, "a")).not.toBe(keyOf(kept, "b"));
  const other = { ...kept, read: () => refuse() };
  expect(keyOf(kept, "a")).not.toBe(keyOf(other, "a"));
});
