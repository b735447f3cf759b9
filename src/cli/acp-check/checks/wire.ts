// The conversation itself: bursts, order, and that stdout carries nothing but valid messages.
import { setTimeout as pause } from "node:timers/promises";
import type { Behaviour } from "../../../testing/index.js";
import { formatElapsed } from "../../terminal/stream.js";
import { CLIENT, initializeParams, problemOf } from "../agent.js";
import { BOUNDS, type Checks, demand } from "../check.js";
import { failure } from "../test-servers.js";

/** Prints lines that are no messages, on both of its outputs. */
const NOISY: Behaviour = {
  steps: {
    start: [
      { do: "garbage", text: "starting up, this line is no message" },
      { do: "stderr", text: "a warning on stderr" },
    ],
  },
};

export const WIRE_FIRST: Checks = {
  "wire.burst": {
    title: "requests sent in one burst with initialize are answered, not refused",
    why: "Clients that do not wait for the answer to initialize fail at random.",
    run: async (bench) => {
      const server = bench.stdio();
      const agent = bench.launch();
      const [first, second] = agent.connection.askTogether([
        ["initialize", initializeParams(CLIENT)],
        ["session/new", agent.newSessionParams([server.entry])],
      ]);
      const introduced = await agent.awaited("initialize", first);
      const opened = await agent.awaited("session/new", second);
      demand(introduced.ok, `initialize failed: ${problemOf(introduced)}`);
      demand(opened.ok, `no session was opened: ${problemOf(opened)}`);
      return `initialize after ${formatElapsed(introduced.ms)}, session/new after ${formatElapsed(opened.ms)}`;
    },
  },
};

/** These judge all agents started in the run, so they come last; alone they bring about enough to be judged. */
export const WIRE_LAST: Checks = {
  "wire.order": {
    title: "no update of a session comes before the answer that creates it",
    why: "Clients drop updates of sessions they do not know: what was said in them is lost.",
    run: async (bench) => {
      await bench.openWith([bench.stdio(failure("acp-check: broken")), bench.stdio()]);
      await pause(BOUNDS.quietMs);
      const early = bench.context.started.flatMap(({ connection }) => connection.earlyUpdates);
      const kinds = [...new Set(early.map(({ update }) => update.sessionUpdate))];
      demand(early.length === 0, `${early.length} updates came too early (${kinds.join(", ")})`);
      return `true of all ${bench.context.started.length} agents started so far`;
    },
  },
  "wire.valid": {
    title: "stdout carries valid ACP and nothing else",
    why: "One stray line breaks the connection in strict clients.",
    run: async (bench) => {
      const good = bench.stdio();
      const session = await bench.openWith([bench.stdio(NOISY), good]);
      await session.use(good);
      session.agent.endInput();
      await session.agent.endsWithin(BOUNDS.exitMs);
      const faults = bench.context.started.flatMap(({ connection }) => connection.violations);
      demand(faults.length === 0, `${faults.length} faults; the first: ${faults[0] ?? ""}`);
      const count = bench.context.started
        .flatMap(({ connection }) => connection.lines.items)
        .filter(({ direction }) => direction === "received").length;
      return `all ${count} lines of ${bench.context.started.length} agents fit the schema`;
    },
  },
};
