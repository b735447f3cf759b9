// One key press never grants more than its label says. Every question the terminal can show is here with all its answers: each answer is
// given, then the same and wider actions are tried. An answer, a grant, a kind of question or a tool that is not here fails a test or the types.
import { expect } from "vitest";
import type { JsonObject } from "../../src/base/json/json.js";
import { builtinSource } from "../../src/builtin/index.js";
import { type Behaviour, echoTool, fakeWorld, type ToolScript } from "../../src/testing/index.js";
import type { ApprovalAnswer, OfferedGrant } from "../../src/tools/index.js";
import { scenario } from "./scenario.js";
import { type Action, act, type GrantChat, GrantStage } from "./terminal-grants.js";
import { IN_TMUX } from "./tmux.js";

const run = (command: string, more: JsonObject = {}): Action => act("run_command", { command, ...more });
const write = (path: string): Action => act("write_file", { path, content: "x\n" });
const fetchOf = (url: string): Action => act("fetch_url", { url });
const call = (server: string, tool: string): Action => act(`mcp__${server}__${tool}`, { text: "x" });
const read = (given: JsonObject): Action => act("tenon_read_resource", given);
const stop = act("stop_command", { id: "nothing" });

const SERVER: Behaviour = { tools: [echoTool("add"), echoTool("other")] };
const REFUSED = "The call was refused";
const WORDS = "Use the other file.";

/** Of a question about a call: whether it has a grant, what that covers beside the call itself, and what is wider. */
interface CallRow {
  readonly name: string;
  readonly to: Action;
  /** The label of the grant; none where a call may be allowed only once. */
  readonly grant?: string;
  readonly lasts?: "session" | "project";
  readonly covers?: readonly Action[];
  readonly wider: readonly Action[];
  readonly never: string;
  /** More of the configuration. */
  readonly config?: JsonObject;
}

const NEVER_RUN = "Never allow run_command, in any project";
const NEVER_WRITE = "Never allow write_file, in any project";

/** For every kind of grant what offers it. A new kind without a row does not pass the type check. */
const GRANTS: Readonly<Record<OfferedGrant["kind"], readonly CallRow[]>> = {
  command: [
    {
      name: "a command of the list of harmless ones",
      to: run("ls"),
      grant: 'Always allow "ls" in this project, with any names or relative paths and without options',
      lasts: "project",
      covers: [run("ls sub")],
      wider: [
        ...["ls -R", "ls; touch made", "ls > made", "ls $(touch made)", "ls /etc", "ls ..", "cat a.txt"].map((one) =>
          run(one),
        ),
        run("ls", { path: "sub" }),
        write("b.txt"),
        fetchOf("https://127.0.0.1:1/a"),
        call("s", "add"),
      ],
      never: NEVER_RUN,
    },
    {
      name: "any other simple command",
      to: run("touch made.txt"),
      grant: 'Always allow exactly "touch made.txt" in this project',
      lasts: "project",
      wider: [run("touch made.txt other.txt"), run("touch other.txt"), run("ls"), write("made.txt"), call("s", "add")],
      never: NEVER_RUN,
    },
  ],
  edits: [
    {
      name: "a change of a file",
      to: write("b.txt"),
      grant: "Allow file edits for the rest of this session, except of protected files",
      lasts: "session",
      covers: [write("c.txt"), act("edit_file", { path: "b.txt", edits: [{ old_text: "x", new_text: "y" }] })],
      wider: [write(".npmrc"), write(".git/hooks/pre-commit"), run("touch made"), call("s", "add")],
      never: NEVER_WRITE,
    },
  ],
  site: [
    {
      name: "a page",
      to: fetchOf("https://127.0.0.1:1/a"),
      grant: "Always allow fetching any page of https://127.0.0.1:1 in this project",
      lasts: "project",
      covers: [fetchOf("https://127.0.0.1:1/b?c=d")],
      wider: [
        ...["https://127.0.0.1:2/a", "http://127.0.0.1:1/a", "https://127.0.0.2:1/a", "https://x@127.0.0.1:1/a"].map(
          fetchOf,
        ),
        run("curl https://127.0.0.1:1/a"),
        call("s", "add"),
      ],
      never: "Never allow fetch_url, in any project",
    },
  ],
  tool: [
    {
      name: "a tool of a server",
      to: call("s", "add"),
      grant: "Always allow s / add in this project, as it is defined now",
      lasts: "project",
      covers: [act("mcp__s__add", { text: "other words" })],
      wider: [call("s", "other"), call("t", "add"), run("ls"), read({ server: "notes", uri: "note://one" })],
      never: "Never allow s / add, in any project",
    },
  ],
  resources: [
    {
      name: "a resource of a server",
      to: read({ server: "notes", uri: "note://one" }),
      grant: "Allow reading resources of notes for the rest of this session",
      lasts: "session",
      covers: [read({ server: "notes", uri: "note://two" }), read({ server: "notes" })],
      wider: [read({ server: "more", uri: "note://one" }), read({}), call("s", "add"), run("ls")],
      never: "Never allow tenon_read_resource, in any project",
    },
  ],
  session_tool: [
    {
      name: "a tool of Tenon's own that is none of these",
      to: stop,
      grant: "Allow builtin / stop_command for the rest of this session",
      lasts: "session",
      covers: [act("stop_command", { id: "another" })],
      wider: [run("ls"), write("b.txt"), call("s", "add")],
      never: "Never allow stop_command, in any project",
    },
  ],
};

/** Questions without a grant: what is asked about may only be allowed once. */
const ONCE_ONLY: readonly CallRow[] = [
  { name: "a protected file", to: write(".npmrc"), wider: [write("b.txt"), run("ls")], never: NEVER_WRITE },
  { name: "commands that are joined", to: run("ls; true"), wider: [run("ls"), write("b.txt")], never: NEVER_RUN },
  {
    name: "resources of all servers",
    to: read({}),
    wider: [run("ls")],
    never: "Never allow tenon_read_resource, in any project",
  },
  {
    name: "an address with a name in it",
    to: fetchOf("https://x@127.0.0.1:1/"),
    wider: [run("ls")],
    never: "Never allow fetch_url, in any project",
  },
  {
    name: "what a rule wants to be asked about",
    to: run("ls"),
    wider: [run("ls a.txt"), write("b.txt")],
    never: NEVER_RUN,
    config: { permissions: { rules: [{ effect: "ask", tool: "run_command" }] } },
  },
];

const CALL_ROWS = [...Object.values(GRANTS).flat(), ...ONCE_ONLY];

const NO_BUT = "No, and say what to do instead";

/** By what the person answers: a new answer without a label here does not pass the type check. */
function answersOf({ grant, never }: Pick<CallRow, "grant" | "never">): readonly string[] {
  const labels: Readonly<Record<ApprovalAnswer, readonly string[]>> = {
    once: ["Allow once"],
    always: grant === undefined ? [] : [grant],
    no: ["No", NO_BUT],
    never: [never],
  };
  return Object.values(labels).flat();
}

async function denied(chat: GrantChat, action: Action, labels?: readonly string[]): Promise<void> {
  const shown = await chat.asked(action);
  if (labels) expect(shown).toEqual(labels);
  await chat.answer("No");
}

/** Everything but what lasts: each of it is asked about again. */
async function tryOnce(chat: GrantChat, row: CallRow): Promise<void> {
  const labels = answersOf(row);
  for (const [label, words] of [["Allow once"], ["No"], [NO_BUT, WORDS]] as const) {
    expect(await chat.asked(row.to)).toEqual(labels);
    await chat.answer(label, words === undefined ? {} : { words });
  }
}

async function tryGrant(stage: GrantStage, row: CallRow): Promise<void> {
  const { to, grant, covers = [], wider, lasts } = row;
  {
    await using chat = await stage.chat();
    await tryOnce(chat, row);
    if (grant !== undefined) {
      await chat.asked(to);
      await chat.answer(grant);
      for (const action of [to, ...covers]) expect(await chat.unasked(action)).not.toContain(REFUSED);
    }
    for (const action of wider) await denied(chat, action);
  }
  await using again = await stage.chat();
  if (lasts === "project") expect(await again.unasked(to)).not.toContain(REFUSED);
  else await denied(again, to, answersOf(row));
}

/** In another project nothing was granted; and there "never" refuses this tool, and lets nothing else through. */
async function tryElsewhere(stage: GrantStage, row: CallRow): Promise<void> {
  const { to, wider, never } = row;
  await using chat = await stage.chat(stage.other);
  expect(await chat.asked(to)).toEqual(answersOf(row));
  await chat.answer(never);
  expect(await chat.unasked(to)).toContain(REFUSED);
  for (const action of wider.filter(({ tool }) => tool !== to.tool).slice(0, 2)) await denied(chat, action);
}

for (const row of CALL_ROWS) {
  scenario(
    ["Z114"],
    `${row.name}: each answer covers what its label says, and nothing wider`,
    async () => {
      await using stage = await GrantStage.open();
      stage.configure({ s: SERVER, t: SERVER }, row.config);
      await tryGrant(stage, row);
      await tryElsewhere(stage, row);
    },
    { ...IN_TMUX, timeoutMs: 180_000 },
  );
}

/** Each call of `change` gives `add` another description. */
const CHANGING = (left: number): readonly ToolScript[] => [
  { ...echoTool("add"), description: `Adds, version ${left}.` },
  echoTool("other"),
  ...(left === 0
    ? []
    : [
        {
          name: "change",
          steps: [{ do: "set_tools", tools: CHANGING(left - 1) }, { do: "list_changed" }] as const,
          reply: { kind: "text", text: "Changed." } as const,
        },
      ]),
];

scenario(
  ["Z114"],
  "a tool whose definition changed: each answer covers that definition, and nothing wider",
  async () => {
    await using stage = await GrantStage.open();
    stage.configure({ s: { tools: CHANGING(2) } }, { permissions: { rules: [{ effect: "allow", tool: "change" }] } });
    const always = "Always allow s / add in this project, as it is defined now";
    const session = "Allow s / add for the rest of this session";
    const never = "Never allow s / add, in any project";
    await using chat = await stage.chat();
    await chat.asked(call("s", "add"));
    await chat.answer(always);
    for (const answer of [session, always]) {
      await chat.unasked(call("s", "change"));
      expect(await chat.prompted()).toEqual([session, always, "No", never]);
      await chat.answer(answer);
      expect(await chat.unasked(call("s", "add"))).not.toContain(REFUSED);
      await denied(chat, call("s", "other"));
    }
    await using elsewhere = await stage.chat(stage.other);
    await denied(elsewhere, call("s", "add"), answersOf({ grant: always, never }));
  },
  { ...IN_TMUX, timeoutMs: 180_000 },
);

scenario(["Z114"], "every tool of Tenon's own that is asked about has a row", async () => {
  await using builtin = builtinSource({
    world: fakeWorld(),
    cwd: "/",
    ports: { ask: async () => ({ kind: "declined" }) },
  });
  const asked = builtin.tools.value.filter(
    ({ annotations = {} }) => !annotations.readOnlyHint || annotations.openWorldHint,
  );
  const rows = new Set(CALL_ROWS.flatMap(({ to, covers = [] }) => [to, ...covers].map(({ tool }) => tool)));
  expect(asked.map(({ name }) => name).filter((name) => !rows.has(name))).toEqual([]);
});
