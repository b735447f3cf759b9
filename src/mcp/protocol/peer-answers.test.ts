// What servers ask of us: answered through the peer, or declined at once.
import { describe, expect, test } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { clientCapabilities } from "./envelope.js";
import { type ElicitAnswer, type ElicitRequest, type Peer, PeerAnswers, type ServerLog } from "./peer.js";

const never = new AbortController().signal;

function answersOf(peer?: Peer): PeerAnswers {
  return new PeerAnswers(peer, fakeWorld().log);
}

function elicits(answer: ElicitAnswer, seen: ElicitRequest[] = []): Peer {
  return {
    elicit: async (request) => {
      seen.push(request);
      return answer;
    },
  };
}

describe("nobody is there", () => {
  test("ping is answered, the rest refused or declined without waiting", async () => {
    const answers = answersOf();
    expect(await answers.answer("ping", {}, never)).toEqual({});
    expect(await answers.answer("elicitation/create", { message: "?" }, never)).toEqual({ action: "decline" });
    for (const method of ["roots/list", "sampling/createMessage", "tasks/list", "toString"]) {
      await expect(answers.answer(method, {}, never)).rejects.toMatchObject({ code: -32601 });
    }
    expect(() => answers.hear("notifications/message", { level: "info", data: "x" })).not.toThrow();
  });

  test("nothing is declared", () => {
    expect(clientCapabilities(undefined)).toEqual({});
    expect(clientCapabilities({ elicitModes: ["form"] })).toEqual({});
    expect(clientCapabilities({ ...elicits({ action: "decline" }), elicitModes: [] })).toEqual({});
  });
});

test("exactly what the peer can answer is declared", () => {
  expect(clientCapabilities({ roots: () => [], sample: async () => ({}) })).toEqual({ roots: {}, sampling: {} });
  expect(clientCapabilities(elicits({ action: "decline" }))).toEqual({ elicitation: { form: {}, url: {} } });
  const formOnly: Peer = { ...elicits({ action: "decline" }), elicitModes: ["form"] };
  expect(clientCapabilities(formOnly)).toEqual({ elicitation: { form: {} } });
});

test("roots and sampling pass through", async () => {
  const answers = answersOf({
    roots: () => [{ uri: "file:///a", name: "a" }, { uri: "file:///b" }],
    sample: async (params) => ({ role: "assistant", echoed: params["maxTokens"] ?? null }),
  });
  expect(await answers.answer("roots/list", {}, never)).toEqual({
    roots: [{ uri: "file:///a", name: "a" }, { uri: "file:///b" }],
  });
  expect(await answers.answer("sampling/createMessage", { maxTokens: 5 }, never)).toEqual({
    role: "assistant",
    echoed: 5,
  });
});

describe("elicitation", () => {
  const requestedSchema = {
    type: "object",
    properties: {
      name: { type: "string", default: "John" },
      age: { type: "integer", default: 0 },
      verified: { type: "boolean", default: false },
      note: { type: "string", default: "" },
      plain: { type: "string" },
      ["__proto__"]: { type: "string", default: "harmless" },
    },
  };

  test("a form without a mode fills what was left out with the schema's defaults, also false, 0 and empty", async () => {
    const seen: ElicitRequest[] = [];
    const answers = answersOf(elicits({ action: "accept", content: { name: "Ada" } }, seen));
    const answer = await answers.answer("elicitation/create", { message: "who?", requestedSchema }, never);
    expect(answer["action"]).toBe("accept");
    expect(Object.entries(answer["content"] ?? {})).toEqual([
      ["name", "Ada"],
      ["age", 0],
      ["verified", false],
      ["note", ""],
      ["__proto__", "harmless"], // a field like any other
    ]);
    expect(seen).toEqual([{ mode: "form", message: "who?", requestedSchema }]);
    expect(Object.getPrototypeOf(answer["content"])).toBe(Object.prototype);
  });

  test("an accepted form without content takes the defaults, and one without a schema stays empty", async () => {
    const answers = answersOf(elicits({ action: "accept" }));
    const filled = await answers.answer("elicitation/create", { message: "?", requestedSchema }, never);
    expect(filled).toMatchObject({ content: { name: "John" } });
    expect(await answers.answer("elicitation/create", { message: "?" }, never)).toEqual({
      action: "accept",
      content: {},
    });
  });

  test.each<ElicitAnswer>([{ action: "decline" }, { action: "cancel" }])("%o goes back bare", async (answer) => {
    const params = { message: "?", requestedSchema };
    expect(await answersOf(elicits(answer)).answer("elicitation/create", params, never)).toEqual(answer);
  });

  test("a URL is shown with its id, and accepting it carries no content", async () => {
    const seen: ElicitRequest[] = [];
    const params = { mode: "url", message: "log in", url: "https://example.com/a", elicitationId: "e1" };
    const peer = elicits({ action: "accept", content: { stray: 1 } }, seen);
    expect(await answersOf(peer).answer("elicitation/create", params, never)).toEqual({ action: "accept" });
    expect(seen).toEqual([{ mode: "url", message: "log in", url: "https://example.com/a", elicitationId: "e1" }]);
  });

  test.each(["javascript:alert(1)", "file:///etc/passwd", "not a url", "vscode://x"])(
    "the URL %s is declined and never shown",
    async (url) => {
      const seen: ElicitRequest[] = [];
      const answers = answersOf(elicits({ action: "accept" }, seen));
      expect(await answers.answer("elicitation/create", { mode: "url", message: "?", url }, never)).toEqual({
        action: "decline",
      });
      expect(seen).toEqual([]);
    },
  );

  test("a mode that the peer cannot show, or that nobody knows, is declined", async () => {
    const seen: ElicitRequest[] = [];
    const answers = answersOf({ ...elicits({ action: "accept" }, seen), elicitModes: ["url"] });
    expect(await answers.answer("elicitation/create", { message: "?" }, never)).toEqual({ action: "decline" });
    expect(await answers.answer("elicitation/create", { mode: "hologram" }, never)).toEqual({ action: "decline" });
    expect(seen).toEqual([]);
  });

  test("a peer that fails counts as a person who left", async () => {
    const answers = answersOf({ elicit: () => Promise.reject(new Error("window gone")) });
    expect(await answers.answer("elicitation/create", { message: "?" }, never)).toEqual({ action: "cancel" });
  });

  test("a server that asks without end is refused, and served again once answers are in", async () => {
    const open: (() => void)[] = [];
    const answers = answersOf({
      elicit: () => new Promise((resolve) => open.push(() => resolve({ action: "decline" }))),
    });
    const asked = Array.from({ length: 8 }, () => answers.answer("elicitation/create", { message: "?" }, never));
    await expect(answers.answer("elicitation/create", { message: "?" }, never)).rejects.toMatchObject({ code: -32603 });
    for (const close of open) close();
    await Promise.all(asked);
    const later = answers.answer("elicitation/create", { message: "?" }, never);
    open.at(-1)?.();
    expect(await later).toEqual({ action: "decline" });
  });
});

test("log messages reach the peer, and a peer that throws breaks nothing", () => {
  const heard: ServerLog[] = [];
  const listening = answersOf({ log: (entry) => heard.push(entry) });
  listening.hear("notifications/message", { level: "warning", logger: "l", data: "careful" });
  expect(heard).toEqual([{ level: "warning", logger: "l", text: "careful" }]);
  const failing = answersOf({
    log: () => {
      throw new Error("no");
    },
  });
  expect(() => failing.hear("notifications/message", { data: "x" })).not.toThrow();
});

test("what is declined without asking anybody is told with the reason, and a peer that throws then breaks nothing", async () => {
  const told: string[] = [];
  const unanswered = (method: string, reason: string) => {
    told.push(`${method}: ${reason}`);
    throw new Error("no");
  };
  const answers = answersOf({ unanswered });
  expect(await answers.answer("elicitation/create", { message: "?" }, never)).toEqual({ action: "decline" });
  await answers.answer("elicitation/create", { mode: "url", url: "file:///etc/passwd" }, never);
  await expect(answers.answer("sampling/createMessage", {}, never)).rejects.toMatchObject({ code: -32601 });
  expect(told).toEqual([
    "elicitation/create: nobody here can be shown it",
    "elicitation/create: the address it wants opened is no web page",
    "sampling/createMessage: nobody here can approve it",
  ]);
});

test("that what was behind a URL is done reaches the peer", () => {
  const done: string[] = [];
  const answers = answersOf({ elicitationCompleted: (id) => done.push(id) });
  answers.hear("notifications/elicitation/complete", { elicitationId: "e1" });
  answers.hear("notifications/elicitation/complete", {});
  expect(done).toEqual(["e1"]);
});
