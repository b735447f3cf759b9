// Clients that join sessions of other nodes again and again: each is shown what its join gives and what comes after it, once.
import fc from "fast-check";
import { expect } from "vitest";
import { expectWhole, numbered, numbers, SUM, Town, textOf } from "../node-town.js";
import type { Frame } from "../scenarios/gateway/wire-client.js";
import { scenario } from "../scenarios/scenario.js";

scenario(
  ["G780"],
  "a client that joins once more while its node is behind is shown the records of the join and no other, and goes on where it was if it cannot join",
  async () => {
    await using town = new Town();
    await town.start("a");
    await town.start("b");
    const owner = await town.client("a", "owner");
    const id = await owner.create();
    await owner.prompt(id, "one two");
    const [guest, beside] = [await town.client("b", "guest"), await town.client("b", "beside")];
    for (const client of [guest, beside]) await client.load(id);
    /** A request of the guest that is on its way while its node reads what the owner said meanwhile; `beside` follows the same log. */
    const joining = async (words: string, request: () => Promise<unknown>) => {
      town.bus.losesHint = () => true;
      await owner.prompt(id, words);
      let pass = () => {};
      const passed = new Promise<void>((resolve) => (pass = resolve));
      const reached = new Promise<void>((resolve) => {
        town.bus.pause = async () => {
          town.bus.pause = async () => {};
          resolve();
          await passed;
        };
      });
      const before = guest.wire.received.length;
      const answered = request();
      await reached;
      town.bus.losesHint = () => false;
      town.bus.hint("a", { session: id, seq: 1_000 });
      await beside.wire.next((frame) => textOf([frame]).includes(words));
      expect(numbers(guest.wire.received.slice(before), id)).toEqual([]);
      pass();
      await answered;
      return before;
    };
    const last = () => Number(numbers(guest.wire.received, id).at(-1));
    const from = await joining("three", () => guest.load(id));
    const near = numbered(await (await town.client("a", "near")).load(id), id);
    expect(numbered(guest.wire.received.slice(from), id)).toEqual(near);
    const after = last();
    const resumed = await joining("four", () => guest.resume(id, after));
    await guest.wire.next((frame) => textOf([frame]).includes("four"));
    const failed = await joining("five", async () => {
      expect((await guest.resume(id, 9_999)).error?.message).toContain("must be a number");
    });
    expect(failed).toBeGreaterThan(resumed);
    await guest.wire.next((frame) => textOf([frame]).includes("five"));
    expectWhole(guest.wire.received.slice(from), id);
    expect(town.logged).toEqual([]);
  },
);

type Act = { readonly client: number; readonly session: number; readonly what: "prompt" | "load" | "resume" | "call" };

const acts = fc.array(
  fc.record<Act>({
    client: fc.nat({ max: 3 }),
    session: fc.nat({ max: 1 }),
    what: fc.constantFrom("prompt", "prompt", "load", "resume", "call"),
  }),
  { minLength: 4, maxLength: 10 },
);

/** Every update as it is in the log, in order; nothing but a client's own words is left out. */
function expectFollowed(frames: readonly Frame[], log: readonly Frame[], id: string): void {
  const order = numbers(log, id);
  const updates = numbered(log, id);
  let at = -1;
  for (const frame of frames) {
    const [number] = numbers([frame], id);
    if (number === undefined) continue;
    const index = order.indexOf(number);
    expect(frame.params).toEqual(updates[index]);
    if (index === 0) at = -1; // it loads it once more
    const left = updates
      .slice(at + 1, index)
      .filter((update) => !JSON.stringify(update).includes("user_message_chunk"));
    expect(left).toEqual([]);
    expect(index).toBeGreaterThan(at);
    at = index;
  }
}

scenario(
  ["G775"],
  "random schedules of messages, lost hints and clients that join, leave and prompt at three nodes: every update is the one of the log, and none is missing",
  async () => {
    await fc.assert(
      fc.asyncProperty(acts, fc.infiniteStream(fc.nat({ max: 6 })), async (given, delays) => {
        await using town = new Town();
        town.bus.pause = async () => {
          for (let left = delays.next().value ?? 0; left > 0; left -= 1) await new Promise((go) => setImmediate(go));
        };
        town.bus.pauseRead = town.bus.pause;
        town.bus.losesHint = () => (delays.next().value ?? 0) > 3;
        for (const id of ["a", "b", "c"]) await town.start(id);
        const clients = [];
        for (const node of ["a", "b", "c", "b"]) clients.push(await town.client(node, node));
        const [first, second] = clients;
        if (!first || !second) return;
        const ids = [await first.create(), await second.create()];
        for (const client of clients) {
          client.answers("session/request_permission", ({ params }) => {
            const options = Array.isArray(params?.["options"]) ? params["options"] : [];
            return { outcome: { outcome: "selected", optionId: options[0]?.optionId } };
          });
          client.answers("_tenon/tool/call", () => ({ content: [{ type: "text", text: "5" }] }));
          for (const id of ids) await client.load(id);
        }
        const ended: Promise<void>[] = [];
        for (const [index, { client, session, what }] of given.entries()) {
          const [by, id] = [clients[client], ids[session]];
          if (!by || id === undefined) continue;
          const run = async () => {
            if (what === "load") await by.load(id);
            else if (what === "resume") expect((await by.resume(id)).error).toBeUndefined();
            else {
              if (what === "call")
                await by.ask("_tenon/session/set_tools", { sessionId: id, key: "calc", tools: [SUM] });
              const words = what === "call" ? "call mcp__calc__sum {}" : `w${index} x y z`;
              const shown = await by.prompt(id, words, `p${index}`);
              if (what === "prompt") expect(textOf(shown)).toContain(`w${index} `);
              const { seq } = Object(shown.at(-1)?.result?.["_meta"]).tenon;
              const later = by.wire.received.slice(by.wire.received.indexOf(shown.at(-1) ?? {}));
              const joinsAgain = given.some(
                (one) => one.client === client && one.what !== "prompt" && one.what !== "call",
              );
              const late = joinsAgain ? [] : numbers(later, id).filter((one) => Number(one.split(".")[0]) <= seq);
              expect(late).toEqual([]);
            }
          };
          ended.push(run());
          if (index % 3 === 2) await Promise.all(ended.splice(0));
        }
        await Promise.all(ended);
        for (const [index, id] of ids.entries()) {
          const reader = await town.client(index === 0 ? "a" : "b", "reader");
          const log = await reader.load(id);
          for (const [number, client] of clients.entries()) {
            expect(numbered(await client.load(id), id)).toEqual(numbered(log, id));
            const mayJump = given.some((one) => one.client === number && one.what === "resume");
            if (!mayJump) expectFollowed(client.wire.received, log, id);
          }
        }
        expect(town.logged).toEqual([]);
      }),
      { numRuns: Number(process.env["TENON_LINK_RUNS"] ?? 4) },
    );
  },
);
