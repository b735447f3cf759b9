// Servers that ask something of their client, and what one session may never see of another: the isolation of what is shared.
import { expect } from "vitest";
import { type AcpClient, type Behaviour, echoTool, type ToolScript } from "../../src/testing/index.js";
import { EVERYTHING } from "../scenarios/real-server.js";
import { scenario } from "../scenarios/scenario.js";
import { heardIn, PID, pidOf, SharedHome, say, sessionOf } from "../scenarios/shared-home.js";

const ASK: ToolScript = {
  name: "ask",
  description: "Asks the person",
  reply: { kind: "ask_client", method: "elicitation/create", params: { message: "who?" } },
};
const SLOW: ToolScript = {
  name: "slow",
  description: "Takes its time",
  steps: [{ do: "delay", ms: 1_500 }],
  reply: { kind: "text", text: "slowly done" },
};
const ASKING: Behaviour = { tools: [PID, ASK, SLOW, echoTool()] };

scenario(
  ["N3"],
  "a server that asks is told apart: the question reaches the right person, and each session has its own from then on",
  async () => {
    await using home = await SharedHome.open();
    home.configure({ one: home.scripted(ASKING) });
    {
      await using client = await home.editor();
      const sessions = await home.sessions(client, 3);
      const [first = "", second = "", third = ""] = sessions;
      const shared = await Promise.all(sessions.map((sessionId) => pidOf(client, sessionId, "one")));
      expect(new Set(shared).size).toBe(1);
      // While another session's call runs, so that it is not plain whose question it is.
      const slow = say(client, second, "mcp__one__slow");
      expect(await say(client, first, "mcp__one__ask")).toContain(`person of ${first}`);
      expect(await slow).toContain("slowly done");
      expect(home.asked.map(sessionOf)).toEqual([first]);
      const own = await Promise.all(sessions.map((sessionId) => pidOf(client, sessionId, "one")));
      expect(new Set([...own, ...shared]).size).toBe(4);
      await expect.poll(() => home.living.length, { timeout: 10_000 }).toBe(3); // the shared one is gone
      const answers = await Promise.all([second, third].map((sessionId) => say(client, sessionId, "mcp__one__ask")));
      expect(answers[0]).toContain(`person of ${second}`);
      expect(answers[1]).toContain(`person of ${third}`);
      for (const other of [second, third]) expect(heardIn(client, first)).not.toContain(`person of ${other}`);
      await client.closeSession(third);
      expect(home.living).toHaveLength(2); // one of its own does not stay
    }
    // Remembered: in the next process nobody shares it.
    await using again = await home.editor();
    const later = await home.sessions(again, 2);
    const pids = await Promise.all(later.map((sessionId) => pidOf(again, sessionId, "one")));
    expect(new Set(pids).size).toBe(2);
  },
);

scenario(
  ["N3"],
  "server-everything, which asks for input and for roots: one process per session once it has asked",
  async () => {
    await using home = await SharedHome.open();
    home.configure({ everything: home.real(EVERYTHING) });
    await using client = await home.editor();
    const sessions = await home.sessions(client, 3);
    const echoes = sessions.map((sessionId) =>
      say(client, sessionId, `mcp__everything__echo {"message":"${sessionId}"}`),
    );
    for (const [index, echo] of (await Promise.all(echoes)).entries()) expect(echo).toContain(sessions[index]);
    const roots = await Promise.all(
      sessions.map((sessionId) => say(client, sessionId, "mcp__everything__get-roots-list")),
    );
    for (const said of roots) expect(said).toContain(home.bench.project);
    expect(home.living).toHaveLength(1);
    for (const sessionId of sessions) {
      expect(await say(client, sessionId, "mcp__everything__trigger-elicitation-request")).toContain(
        `person of ${sessionId}`,
      );
    }
    expect(home.asked.map(sessionOf)).toEqual(sessions);
    await expect.poll(() => home.living.length, { timeout: 10_000 }).toBe(3);
  },
);

scenario(
  ["N3"],
  "a modern server asks within the call, and each session answers its own at the same time",
  async () => {
    await using home = await SharedHome.open();
    const ask: ToolScript = {
      name: "ask",
      description: "Asks the person",
      steps: [{ do: "delay", ms: 300 }],
      reply: {
        kind: "ask_input",
        inputRequests: { who: { method: "elicitation/create", params: { message: "who?" } } },
      },
    };
    home.configure({ one: home.scripted({ era: "modern", tools: [PID, ask] }) });
    await using client = await home.editor();
    const sessions = await home.sessions(client, 3);
    const shared = await Promise.all(sessions.map((sessionId) => pidOf(client, sessionId, "one")));
    expect(new Set(shared).size).toBe(1);
    const answers = await Promise.all(sessions.map((sessionId) => say(client, sessionId, "mcp__one__ask")));
    for (const [index, answer] of answers.entries()) expect(answer).toContain(`person of ${sessions[index]}`);
    expect(home.asked.map(sessionOf).sort()).toEqual([...sessions].sort());
    const own = await Promise.all(sessions.map((sessionId) => pidOf(client, sessionId, "one")));
    expect(new Set(own).size).toBe(3);
  },
);

const COLOURS = ["crimson", "teal", "olive"] as const;

/** Each colour has a tool that fills the connection with it. */
function colourful(colour: string): ToolScript {
  const line = (count: number) =>
    ({
      do: "notify",
      method: "notifications/message",
      params: { level: "warning", data: `${colour} line ${count}` },
    }) as const;
  return {
    name: `paint_${colour}`,
    description: "Paints",
    steps: [
      ...Array.from({ length: 50 }, (_, count) => line(count)),
      ...Array.from({ length: 20 }, (_, progress) => ({
        do: "progress" as const,
        progress,
        message: `${colour} progress`,
      })),
      { do: "delay", ms: 300 },
      { do: "list_changed", count: 20 },
    ],
    reply: { kind: "text", text: `painted in ${colour}` },
  };
}

/** Names of tools are the server's, and everybody's: what was said is not. */
function wordsIn(client: AcpClient, sessionId: string): string {
  return heardIn(client, sessionId).replaceAll(/paint_[a-z]+/gu, "");
}

scenario(
  ["N4"],
  "results, progress, log lines and storms of notices of one session never show in another",
  async () => {
    await using home = await SharedHome.open();
    home.configure({ one: home.scripted({ tools: [PID, ...COLOURS.map(colourful)] }) });
    await using client = await home.editor();
    const sessions = await home.sessions(client, 3);
    const pids = await Promise.all(sessions.map((sessionId) => pidOf(client, sessionId, "one")));
    expect(new Set(pids).size).toBe(1);
    const painted = COLOURS.map(async (colour, index) => {
      const sessionId = sessions[index] ?? "";
      for (let round = 0; round < 3; round++) {
        expect(await say(client, sessionId, `mcp__one__paint_${colour}`)).toContain(`painted in ${colour}`);
      }
    });
    await Promise.all(painted);
    for (const [index, colour] of COLOURS.entries()) {
      const heard = wordsIn(client, sessions[index] ?? "");
      expect(heard).toContain(`${colour} progress`);
      for (const other of COLOURS.filter((one) => one !== colour)) {
        expect(heard, `${other} in the session of ${colour}`).not.toContain(other);
      }
    }
    expect(home.living).toHaveLength(1);
  },
);

scenario(["N4"], "a cancel and a close end the calls of their own session only", async () => {
  await using home = await SharedHome.open();
  const never: ToolScript = {
    name: "never",
    description: "Never ends",
    steps: [{ do: "never" }],
    reply: { kind: "echo" },
  };
  home.configure({ one: home.scripted({ tools: [PID, SLOW, never] }) });
  await using client = await home.editor();
  const [first = "", second = "", third = ""] = await home.sessions(client, 3);
  const pid = await pidOf(client, third, "one");
  const running = (sessionId: string) =>
    client.waitForUpdate(sessionId, (update) => /"in_progress"/u.test(JSON.stringify(update)));
  const cancelled = client.prompt(first, "mcp__one__never");
  const closed = client.prompt(second, "mcp__one__never").catch(() => undefined);
  await Promise.all([running(first), running(second)]);
  const kept = say(client, third, "mcp__one__slow");
  await client.cancel(first);
  expect((await cancelled).stopReason).toBe("cancelled");
  await client.closeSession(second);
  await closed;
  expect(await kept).toContain("slowly done");
  expect(await pidOf(client, third, "one")).toBe(pid);
  expect(await pidOf(client, first, "one")).toBe(pid);
});
