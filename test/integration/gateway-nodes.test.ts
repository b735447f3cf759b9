// Clients of one node in sessions of another: gateways in this process, over shared files with a bus, and over PostgreSQL.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { GATEWAY_LIMITS } from "../../src/gateway/index.js";
import { nodeWorld } from "../../src/index.js";
import { openPostgresStore } from "../../src/postgres/index.js";
import { numbered, numbers, Town } from "../node-town.js";
import type { Frame } from "../scenarios/gateway/wire-client.js";
import { postgresOfFile, scenario } from "../scenarios/scenario.js";

const postgres = postgresOfFile();
const needs = { ...postgres };

/** Gateways that share a new database. */
async function inDatabase(): Promise<Town> {
  const url = await postgres.get().database();
  return new Town(async (name, roots) => {
    const world = nodeWorld({ log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } });
    return await openPostgresStore({ world, url, node: { name, roots } });
  });
}

const textOf = (frames: readonly Frame[]) => JSON.stringify(frames.map(({ params }) => params?.["update"]));
const methodsOf = (frames: readonly Frame[]) => frames.map(({ method }) => method ?? "answer");

/** From 1 on, each once: parts of a record come before its number. */
function expectWhole(frames: readonly Frame[], sessionId: string): void {
  const seen = numbers(frames, sessionId);
  expect(new Set(seen).size).toBe(seen.length);
  const order = seen.map((one) => Number(one.split(".")[0]));
  expect(order).toEqual([...order].sort((one, other) => one - other));
}

scenario(
  ["G770", "G771"],
  "a client of another node is shown what a client of the owner's node is, in the same order, and prompts there",
  async () => {
    for (const town of [new Town(), await inDatabase()]) await shownAndPrompted(town);
  },
  needs,
);

scenario(
  ["G772"],
  "questions, client tools and files reach clients of other nodes, and what they may not send over a link is refused in words",
  async () => {
    for (const town of [new Town(), await inDatabase()]) await askedAndRefused(town);
  },
  needs,
);

async function shownAndPrompted(given: Town): Promise<void> {
  await using town = given;
  await town.start("a");
  await town.start("b");
  const owner = await town.client("a", "owner");
  const id = await owner.create();
  await owner.prompt(id, "one two three");
  const guest = await town.client("b", "guest");
  const shown = await guest.load(id);
  const near = await (await town.client("a", "near")).load(id);
  expect(numbered(shown, id)).toEqual(numbered(near, id));
  expect(numbered(shown, id).length).toBeGreaterThan(3);
  expect(shown.at(-1)?.result).toMatchObject({ _meta: { tenon: { state: "idle", view: { sessionId: id } } } });
  // Its prompt is shown to the others, not to itself; its answer comes after all updates of the turn.
  const prompted = await guest.prompt(id, "four five six", "p1");
  expect(textOf(prompted)).toContain("six");
  expect(textOf(prompted)).not.toContain("user_message_chunk");
  const { seq } = Object(prompted.at(-1)?.result?.["_meta"]).tenon;
  expect(Number(numbers(prompted, id).at(-1))).toBeLessThanOrEqual(seq);
  await owner.wire.next((frame) => numbers([frame], id)[0] === numbers(prompted, id).at(-1));
  expect(textOf(owner.wire.received)).toContain("user_message_chunk");
  // And what the owner says is shown to the guest.
  await owner.prompt(id, "seven");
  await guest.wire.next((frame) => textOf([frame]).includes("seven"));
  for (const { wire } of [owner, guest]) expectWhole(wire.received, id);
  // It goes on where it was.
  const back = await town.client("b", "back");
  const [whole, resumed] = [numbered(await back.load(id), id), await town.client("b", "again")];
  const answer = await resumed.resume(id, Number(numbers(near, id).at(-1)));
  expect(answer.error).toBeUndefined();
  await vi.waitFor(() => {
    expect(numbered(resumed.wire.received, id)).toEqual(whole.slice(numbered(near, id).length));
  });
  const beyond = await resumed.resume(id, 9_999);
  expect(beyond.error?.message).toContain("must be a number from 0 to");
  expect(town.logged).toEqual([]);
}

async function askedAndRefused(given: Town): Promise<void> {
  await using town = given;
  await town.start("a");
  await town.start("b");
  const owner = await town.client("a", "owner");
  const id = await owner.create();
  const guest = await town.client("b", "guest", { fs: { readTextFile: true, writeTextFile: false } });
  await guest.load(id);
  const sum = { name: "sum", description: "Adds", inputSchema: { type: "object" } };
  await guest.ask("_tenon/session/set_tools", { sessionId: id, key: "calc", tools: [sum] });
  let answer: string | undefined;
  guest.answers("_tenon/tool/call", ({ params }) => {
    const { toolCallId } = params ?? {};
    const progress = { sessionId: id, toolCallId, progress: 1, total: 2, message: "half way" };
    guest.wire.web.send(JSON.stringify({ jsonrpc: "2.0", method: "_tenon/tool/progress", params: progress }));
    return answer === undefined ? undefined : { content: [{ type: "text", text: answer }] };
  });
  // Both are asked; the guest answers, and the owner's question is withdrawn.
  const prompting = owner.prompt(id, 'call mcp__calc__sum {"a":2}');
  const isAsked = (frame: Frame) => frame.method === "session/request_permission";
  const [atOwner, atGuest] = [await owner.wire.next(isAsked), await guest.wire.next(isAsked)];
  const once = (options: unknown) => (Array.isArray(options) ? options : []).find(({ kind }) => kind === "allow_once");
  const outcome = { outcome: "selected", optionId: once(atGuest.params?.["options"]).optionId };
  guest.answer(atGuest, { outcome });
  const withdrawn = await owner.wire.next((frame) => frame.method === "$/cancel_request");
  expect(withdrawn.params?.["requestId"]).toBe(atOwner.id);
  const called = await guest.wire.next(({ method }) => method === "_tenon/tool/call");
  for (const { wire } of [owner, guest]) await wire.next((frame) => textOf([frame]).includes("half way"));
  guest.answer(called, { content: [{ type: "text", text: "the sum is 5" }] });
  expect(textOf(await prompting)).toContain("the sum is 5");
  await vi.waitFor(() => expect(textOf(guest.wire.received)).toContain("the sum is 5"));
  // The other way round.
  const before = guest.wire.received.length;
  answer = "the sum is 6";
  owner.answers("session/request_permission", ({ params }) => {
    return { outcome: { outcome: "selected", optionId: once(params?.["options"]).optionId } };
  });
  await guest.prompt(id, 'call mcp__calc__sum {"a":3}');
  const later = guest.wire.received.slice(before);
  const asked = later.find(isAsked);
  expect(later.find((frame) => frame.method === "$/cancel_request")?.params?.["requestId"]).toBe(asked?.id);
  // Files are those of the client that prompts.
  writeFileSync(join(town.project.path, "notes.txt"), "on the disk");
  guest.answers("fs/read_text_file", () => ({ content: "in the editor" }));
  expect(textOf(await guest.prompt(id, 'call read_file {"path":"notes.txt"}'))).toContain("in the editor");
  // Too long for a link, both ways.
  answer = "x".repeat(GATEWAY_LIMITS.links.messageMaxBytes + 1);
  const failed = textOf(await guest.prompt(id, 'call mcp__calc__sum {"a":4}'));
  expect(failed).toContain("takes and gives at most 8388608 in one message");
  const long = { sessionId: id, prompt: [{ type: "text", text: answer }] };
  const refused = await guest.wire.request("session/prompt", long);
  expect(refused.error).toMatchObject({ code: -32602, data: { code: "session.invalid_request" } });
  expect(methodsOf(await guest.prompt(id, "and on"))).toContain("answer");
  for (const { wire } of [owner, guest]) expectWhole(wire.received, id);
}
