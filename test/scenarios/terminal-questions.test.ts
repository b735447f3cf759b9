// The other questions of the terminal beside those about calls: trust, a server that uses the model, forms, pages, the model's own questions.
// Each of their answers is given, and then the same and something wider is asked about again.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { JsonObject } from "../../src/base/json/json.js";
import type { QuestionKind, SamplingAnswer, TrustAnswer } from "../../src/session/ports.js";
import { type Behaviour, echoTool, type ToolScript } from "../../src/testing/index.js";
import { scenario } from "./scenario.js";
import { act, GrantStage, NOTES } from "./terminal-grants.js";
import { IN_TMUX } from "./tmux.js";

interface Case {
  readonly name: string;
  run(stage: GrantStage): Promise<void>;
}

// A server that wants to use the model.
const asking = (name: string, method: string, params: JsonObject): ToolScript => ({
  name,
  reply: { kind: "ask_client", method, params },
});

const ANSWER_TEXT = "A thought.";
const THINKER: Behaviour = {
  tools: [
    asking("think", "sampling/createMessage", {
      messages: [{ role: "user", content: { type: "text", text: "Think." } }],
      maxTokens: 20,
    }),
    echoTool("other"),
  ],
};
const think = (server: string) => act(`mcp__${server}__think`, {}, [ANSWER_TEXT]);

const SAMPLING_LABELS: Readonly<Record<SamplingAnswer, string>> = {
  once: "Allow once",
  session: "Allow this server to use the model for the rest of this session",
  no: "No",
  never: "No, for the rest of this session",
};

const ALLOW_THINKING = { permissions: { rules: [{ effect: "allow", tool: "think" }] } };

async function sampling(stage: GrantStage): Promise<void> {
  stage.configure({ s: THINKER, t: THINKER }, ALLOW_THINKING);
  const { once, session, no, never } = SAMPLING_LABELS;
  {
    await using chat = await stage.chat();
    expect(await chat.asked(think("s"))).toEqual(Object.values(SAMPLING_LABELS));
    await chat.answer(once, { texts: [ANSWER_TEXT] });
    await chat.asked(think("s"));
    await chat.answer(no);
    await chat.asked(think("s"));
    await chat.answer(session, { texts: [ANSWER_TEXT] });
    expect(await chat.unasked(think("s"))).toContain(ANSWER_TEXT);
    for (const wider of [think("t"), act("mcp__s__other", { text: "x" }), act("run_command", { command: "ls" })]) {
      await chat.asked(wider);
      await chat.answer(no);
    }
  }
  await using chat = await stage.chat();
  await chat.asked(think("s"));
  await chat.answer(never);
  expect(await chat.unasked(act("mcp__s__think"))).not.toContain(ANSWER_TEXT);
  await chat.asked(think("t"));
  await chat.answer(no);
}

// Entries and settings of the project's files, and programs of its folder.
const TRUST_LABELS: Readonly<Record<TrustAnswer, string>> = {
  yes: "Trust exactly this",
  later: "Not now",
  no: "Never",
};

interface TrustCase {
  readonly name: string;
  /** What stands in the project. */
  put(stage: GrantStage, folder: string): void;
  /** Of the question. */
  readonly title: string;
  /** More of it, or something else in its place, with the title of the question about that. */
  readonly wider: readonly { readonly put: TrustCase["put"]; readonly title: string }[];
  /** Servers of the person's own configuration. */
  readonly own?: JsonObject;
}

const toProject = (stage: GrantStage, folder: string, servers: Readonly<Record<string, Behaviour>>) => {
  const entries = Object.entries(servers).map(([name, behaviour]) => [name, stage.entry(behaviour)]);
  writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
};

const settings = (value: JsonObject) => (_: GrantStage, folder: string) => {
  mkdirSync(join(folder, ".tenon"), { recursive: true });
  writeFileSync(join(folder, ".tenon/config.json"), JSON.stringify(value));
};

const P: Behaviour = { tools: [echoTool("add")] };
const PROJECTS = (name: string) => `Trust the project's MCP server "${name}"?`;
const SETTINGS = "Trust the settings of this project?";
const FOLDER = 'Trust the MCP server "mine" to run what this folder has?';

const program = (more: string) => (_: GrantStage, folder: string) => {
  writeFileSync(join(folder, "server.mjs"), `${NOTES}\n${more}`);
};

const TRUST_CASES: readonly TrustCase[] = [
  {
    name: "a server of the project",
    put: (stage, folder) => toProject(stage, folder, { p: P }),
    title: PROJECTS("p"),
    wider: [
      { put: (stage, folder) => toProject(stage, folder, { p: P, q: P }), title: PROJECTS("q") },
      {
        put: (stage, folder) => toProject(stage, folder, { p: { ...P, serverName: "another" } }),
        title: PROJECTS("p"),
      },
    ],
  },
  {
    name: "settings of the project",
    put: settings({ model: "openai-compatible/m" }),
    title: SETTINGS,
    wider: [{ put: settings({ model: "openai-compatible/other" }), title: SETTINGS }],
  },
  {
    name: "a program of the folder that a server of the person's own names",
    put: program(""),
    title: FOLDER,
    wider: [{ put: program("// and something else"), title: FOLDER }],
    own: { mine: { command: "node", args: ["./server.mjs"] } },
  },
];

async function asksForTrust(stage: GrantStage, title: string, folder: string, answer: TrustAnswer): Promise<void> {
  await using chat = await stage.chat(folder);
  expect(await chat.prompted()).toEqual(Object.values(TRUST_LABELS));
  expect(await chat.terminal.screen()).toContain(title);
  await chat.answer(TRUST_LABELS[answer]);
  await chat.plainly(); // once a session
}

async function asksNothing(stage: GrantStage, folder: string): Promise<void> {
  await using chat = await stage.chat(folder);
  await chat.plainly();
}

async function trust(stage: GrantStage, { put, title, wider, own }: TrustCase): Promise<void> {
  stage.configure({}, {}, own);
  put(stage, stage.project);
  await asksForTrust(stage, title, stage.project, "later");
  await asksForTrust(stage, title, stage.project, "yes");
  await asksNothing(stage, stage.project);
  for (const one of wider) {
    one.put(stage, stage.project);
    await asksForTrust(stage, one.title, stage.project, "later");
  }
  put(stage, stage.other);
  await asksForTrust(stage, title, stage.other, "no");
  await asksNothing(stage, stage.other);
}

// Forms, pages and the model's own questions grant nothing: the next one is asked again.
const FORM = {
  message: "Who are you?",
  requestedSchema: {
    type: "object",
    properties: { name: { type: "string", default: "me" }, age: { type: "integer", default: 5 } },
  },
};

const PAGE = { mode: "url", message: "Look here.", url: "https://example.invalid/look", elicitationId: "1" };
const ALLOW_ASKING = { permissions: { rules: [{ effect: "allow", tool: "ask" }] } };
const ask = (server: string) => act(`mcp__${server}__ask`);

async function form(stage: GrantStage): Promise<void> {
  const tools = [asking("ask", "elicitation/create", FORM)];
  stage.configure({ s: { tools }, t: { tools } }, ALLOW_ASKING);
  await using chat = await stage.chat();
  for (const last of ["Send these answers", "No"]) {
    expect(await chat.asked(ask("s"))).toEqual(["Answer it", "No"]);
    await chat.press("Answer it");
    for (const field of ["Enter: me", "Enter: 5"]) {
      await chat.terminal.until((screen) => screen.trimEnd().split("\n").slice(-3).join("\n").includes(field));
      await chat.terminal.press("Enter");
    }
    await chat.terminal.until("1. Send these answers");
    expect(await chat.menu()).toEqual(["Send these answers", "Answer again", "No"]);
    await chat.answer(last);
  }
  for (const server of ["s", "t"]) {
    expect(await chat.asked(ask(server))).toEqual(["Answer it", "No"]);
    await chat.answer("No");
  }
}

async function page(stage: GrantStage): Promise<void> {
  const tools = [asking("ask", "elicitation/create", PAGE)];
  stage.configure({ s: { tools }, t: { tools } }, ALLOW_ASKING);
  await using chat = await stage.chat();
  for (const [server, answer] of [
    ["s", "I open it"],
    ["s", "No"],
    ["t", "No"],
  ] as const) {
    expect(await chat.asked(ask(server))).toEqual(["I open it", "No"]);
    await chat.answer(answer);
  }
}

async function person(stage: GrantStage): Promise<void> {
  stage.configure({});
  await using chat = await stage.chat();
  const question = act("ask_person", {
    question: "Which one?",
    options: [{ label: "Delete it" }, { label: "Keep it" }],
  });
  for (const answer of ["1", ""]) {
    await chat.begin(question);
    await chat.terminal.until((screen) => screen.includes("2 Keep it") && /^ {2}› *$/mu.test(screen));
    await chat.typed(answer);
  }
  await chat.asked(act("run_command", { command: "rm a.txt" }));
  await chat.answer("No");
}

const CASES: Readonly<Record<Exclude<QuestionKind, "permission">, readonly Case[]>> = {
  sampling: [{ name: "a server that wants to use the model", run: sampling }],
  trust: TRUST_CASES.map((one) => ({ name: one.name, run: (stage) => trust(stage, one) })),
  elicitation: [
    { name: "a form of a server", run: form },
    { name: "a page that a server wants to be opened", run: page },
  ],
  person: [{ name: "a question of the model", run: person }],
};

for (const { name, run } of Object.values(CASES).flat()) {
  scenario(
    ["Z114"],
    `${name}: each answer covers what its label says, and nothing wider`,
    async () => {
      await using stage = await GrantStage.open();
      await run(stage);
    },
    { ...IN_TMUX, timeoutMs: 180_000 },
  );
}
