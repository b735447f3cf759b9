// The conversation itself: bursts, order, and that stdout carries nothing but valid messages.
import { CLIENT, idOf, initializeParams, problemOf } from "../agent/running.js";
import type { Check } from "../check.js";
import { demand } from "../failure.js";
import { wordOf } from "../fields.js";
import { pause, seconds } from "../wait.js";
import { BOUNDS, openWith, useServer } from "./shared.js";

export const WIRE_FIRST: readonly Check[] = [
  {
    id: "wire.burst",
    title: "requests sent in one burst with initialize are answered, not refused",
    why: "Clients that do not wait for the answer to initialize fail at random.",
    run: async (bench) => {
      const server = bench.stdio();
      const agent = bench.launch();
      const first = agent.link.prepare("initialize", initializeParams(CLIENT));
      const second = agent.link.prepare("session/new", agent.newSessionParams([server.entry]));
      agent.process.write(first.line + second.line);
      const introduced = await agent.link.awaited("initialize", first.answer, bench.lab.answerMs);
      demand(introduced.ok, `initialize failed: ${problemOf(introduced)}`);
      const opened = await agent.link.awaited("session/new", second.answer, bench.lab.answerMs);
      idOf(opened);
      return `initialize after ${seconds(introduced.ms)}, session/new after ${seconds(opened.ms)}`;
    },
  },
];

/** These judge all agents started in the run, so they come last; alone they bring about enough to be judged. */
export const WIRE_LAST: readonly Check[] = [
  {
    id: "wire.order",
    title: "no update of a session comes before the answer that creates it",
    why: "Clients drop updates of sessions they do not know: what was said in them is lost.",
    run: async (bench) => {
      const agent = await bench.start();
      const servers = [bench.stdio({ failure: "acp-check: broken" }), bench.stdio()];
      await openWith(
        agent,
        servers.map(({ entry }) => entry),
      );
      await pause(BOUNDS.quietMs);
      const early = bench.lab.started.flatMap(({ link }) => link.early);
      const kinds = [...new Set(early.map(({ update }) => wordOf(update["sessionUpdate"])))];
      demand(early.length === 0, `${early.length} updates came too early (${kinds.join(", ")})`);
      return `true of all ${bench.lab.started.length} agents started so far`;
    },
  },
  {
    id: "wire.valid",
    title: "stdout carries valid ACP and nothing else",
    why: "One stray line breaks the connection in strict clients.",
    run: async (bench) => {
      const agent = await bench.start();
      const noisy = bench.stdio({ isNoisy: true });
      const good = bench.stdio();
      const { sessionId } = await openWith(agent, [noisy.entry, good.entry]);
      await useServer(bench, agent, sessionId, good);
      agent.process.endInput();
      await agent.process.endsWithin(BOUNDS.exitMs);
      const faults = bench.lab.started.flatMap(({ link }) => link.faults);
      demand(faults.length === 0, `${faults.length} faults; the first: ${faults[0] ?? ""}`);
      const count = bench.lab.started.reduce((sum, { link }) => sum + link.messageCount, 0);
      return `all ${count} lines of ${bench.lab.started.length} agents fit the schema`;
    },
  },
];
