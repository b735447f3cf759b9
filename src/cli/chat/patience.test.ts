// Servers that download themselves first: who is waited for, how long, and what is said meanwhile.
import { describe, expect, it } from "vitest";
import { type FakeAgent, TestChat } from "../../../test/chat.js";

const server = (name: string, state: string) => ({ name, state, toolCount: 0, tools: [] });

function agentWith(states: readonly (readonly unknown[])[]): FakeAgent & { looks: number } {
  const agent = {
    looks: 0,
    status: () => {
      const servers = states[Math.min(agent.looks, states.length - 1)];
      agent.looks += 1;
      return { servers };
    },
    turn: async (told: Parameters<NonNullable<FakeAgent["turn"]>>[0]) => {
      await told.say(`after ${agent.looks}`);
      return "end_turn" as const;
    },
  };
  return agent;
}

/** Time passes whenever somebody waits for it. */
function hurried(stepMs: number): TestChat {
  const chat = new TestChat();
  chat.clock.after = (_delayMs, run) => {
    chat.clock.nowMs += stepMs;
    setImmediate(run);
    return () => {};
  };
  return chat;
}

describe("a prompt that nobody repeats", () => {
  it("waits until the slow servers are there or have failed, and says so after a while", async () => {
    const agent = agentWith([
      [],
      [server("fs", "connecting"), server("other", "connecting")],
      [server("fs", "connecting"), server("other", "connecting")],
      [server("fs", "ready"), server("other", "connecting")],
    ]);
    const chat = hurried(1_500);
    expect(await chat.run(agent, { prompt: "list", slowServers: ["fs"] })).toBe(0);
    expect(chat.output.text).toBe("after 4\n");
    expect(chat.errorOutput.lines).toEqual(["Waiting for fs, which may be downloading. Ctrl-C quits."]);
  });

  it("waits neither for a server nobody knows nor for ever", async () => {
    const unknown = agentWith([[]]);
    await hurried(1_000).run(unknown, { prompt: "list", slowServers: ["fs"] });
    expect(unknown.looks).toBe(6);
    const endless = agentWith([[server("fs", "connecting")]]);
    await hurried(30_000).run(endless, { prompt: "list", slowServers: ["fs"] });
    expect(endless.looks).toBe(4);
  });

  it("does not look at all when nothing is slow, nor in a dialogue", async () => {
    const quick = agentWith([[server("fs", "connecting")]]);
    await new TestChat().run(quick, { prompt: "list" });
    expect(quick.looks).toBe(0);
    const chat = new TestChat();
    const done = chat.run(quick, { interactive: true, slowServers: ["fs"] });
    await chat.output.until("› ");
    chat.input.end();
    await done;
    expect(quick.looks).toBe(0);
  });

  it("is given up at Ctrl-C", async () => {
    const chat = new TestChat();
    const agent: FakeAgent = {
      status: () => {
        chat.interrupt();
        return { servers: [server("fs", "connecting")] };
      },
    };
    expect(await chat.run(agent, { prompt: "list", slowServers: ["fs"] })).toBe(130);
  });
});
