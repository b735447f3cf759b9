// What is on disk: private, bound to its server, without a word on how a server is reached, and never trusted blindly.
import { expect, it } from "vitest";
import { LIMITS } from "../../base/limits.js";
import { fakeWorld } from "../../testing/index.js";
import type { KeptTool, ServerIdentity } from "./approval.js";
import { ApprovalFiles } from "./approval-files.js";

const SERVER: ServerIdentity = { origin: "client", name: "notes", fingerprint: "canary-fingerprint" };
const TOOL: KeptTool = { name: "read", hash: "h1", definition: { name: "read", description: "Reads" } };
const FOLDER = "/state/approvals";

const decisions = (files: { readonly paths: readonly string[] }) =>
  files.paths.filter((path) => path.endsWith(".json"));

it("keeps one private file per decision, named by nothing that can be guessed", async () => {
  const world = fakeWorld();
  const store = new ApprovalFiles(world, FOLDER);
  await store.keep(SERVER, { decision: "always", scope: "tool", tools: [TOOL] });
  await store.keep(SERVER, { decision: "always", scope: "server", tools: [TOOL] });
  await store.keep(SERVER, { decision: "never", scope: "tool", tools: [{ name: "write", hash: "h2" }] });
  expect(decisions(world.files)).toHaveLength(3);
  for (const path of world.files.paths) {
    expect(await world.files.find(path)).toMatchObject({ mode: 0o600 });
    expect(`${path}${world.files.text(path)}`).not.toContain("canary-fingerprint");
  }
  const kept = await new ApprovalFiles(world, FOLDER).load(SERVER);
  expect(kept.map(({ decision, scope, tools }) => [decision, scope, tools])).toEqual([
    ["always", "tool", [TOOL]],
    ["always", "server", [TOOL]],
    ["never", "tool", [{ name: "write", hash: "h2" }]],
  ]);
  const other = fakeWorld({ seed: 2 });
  await new ApprovalFiles(other, FOLDER).keep(SERVER, { decision: "always", scope: "tool", tools: [TOOL] });
  expect(world.files.paths).not.toContain(decisions(other.files)[0]);
});

it("replaces the decision on a tool instead of keeping two", async () => {
  const world = fakeWorld();
  const store = new ApprovalFiles(world, FOLDER);
  await store.keep(SERVER, { decision: "always", scope: "tool", tools: [TOOL] });
  await store.keep(SERVER, { decision: "never", scope: "tool", tools: [TOOL] });
  expect(await store.load(SERVER)).toMatchObject([{ decision: "never" }]);
});

it("does not take a decision for another's, nor what it did not write, for one", async () => {
  const world = fakeWorld();
  const store = new ApprovalFiles(world, FOLDER);
  await store.keep(SERVER, { decision: "always", scope: "tool", tools: [TOOL] });
  const [path = ""] = decisions(world.files);
  const text = world.files.text(path) ?? "";
  for (const bad of [
    "",
    "[]",
    text.replace('"version":1', '"version":2'),
    text.replace('"always"', '"maybe"'),
    text.replace('"hash":"h1"', '"hash":5'),
    text.replace('"name":"read"', '"name":"delete"'),
    text.replace('"server":"notes"', '"server":"other"'),
    text.replace('"origin":"client"', '"origin":"user"'),
    text + " ".repeat(2 * LIMITS.approvalMaxFileBytes),
  ]) {
    world.files.write(path, bad);
    expect(await new ApprovalFiles(world, FOLDER).load(SERVER)).toEqual([]);
  }
  world.files.write(path, text);
  expect(await new ApprovalFiles(world, FOLDER).load(SERVER)).toHaveLength(1);
});

it("keeps hashes without the definitions that are too long, each and together", async () => {
  const world = fakeWorld();
  const store = new ApprovalFiles(world, FOLDER);
  const definition = (chars: number) => ({ description: "x".repeat(chars) });
  const tools: KeptTool[] = [
    { name: "huge", hash: "h", definition: definition(LIMITS.approvalMaxDefinitionBytes) },
    ...Array.from({ length: 30 }, (_, at) => ({ name: `t${at}`, hash: "h", definition: definition(60_000) })),
  ];
  await store.keep(SERVER, { decision: "always", scope: "server", tools });
  const [path = ""] = decisions(world.files);
  expect((world.files.text(path) ?? "").length).toBeLessThan(1.1 * LIMITS.approvalMaxFileBytes);
  const [kept] = await store.load(SERVER);
  expect(kept?.tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
  expect(kept?.tools[0]?.definition).toBeUndefined();
  expect(kept?.tools[1]?.definition).toBeDefined();
  expect(kept?.tools.at(-1)?.definition).toBeUndefined();
});

it("lists what was decided for people, the latest first, and forgets it", async () => {
  const world = fakeWorld();
  const store = new ApprovalFiles(world, FOLDER);
  await store.keep(SERVER, { decision: "always", scope: "tool", tools: [TOOL] });
  await world.advance(1_000);
  await store.keep(SERVER, { decision: "never", scope: "tool", tools: [{ name: "write", hash: "h2" }] });
  const listed = await store.list();
  expect(listed.map(({ decision, server, origin, tools }) => [decision, origin, server, tools[0]?.name])).toEqual([
    ["never", "client", "notes", "write"],
    ["always", "client", "notes", "read"],
  ]);
  await store.forget(listed[0]?.id ?? "");
  await store.forget("../../config.json");
  expect(await store.load(SERVER)).toMatchObject([{ decision: "always" }]);
});

it.each([undefined, ".", "state/approvals"])(
  "has no place in %s: a project would bring its own approvals",
  async (folder) => {
    const world = fakeWorld();
    const store = new ApprovalFiles(world, folder);
    expect(await store.load(SERVER)).toEqual([]);
    expect(await store.list()).toEqual([]);
    await expect(store.keep(SERVER, { decision: "always", scope: "tool", tools: [TOOL] })).rejects.toMatchObject({
      code: "config.unreadable",
    });
    expect(world.files.paths).toEqual([]);
  },
);

it("makes one key, however many look for it at the same time", async () => {
  const world = fakeWorld();
  const stores = Array.from({ length: 5 }, () => new ApprovalFiles(world, FOLDER));
  await Promise.all(stores.map((store) => store.keep(SERVER, { decision: "always", scope: "tool", tools: [TOOL] })));
  expect(decisions(world.files)).toHaveLength(1);
});
