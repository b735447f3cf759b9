// Slash commands: which prompts are commands, and what they answer.
import { describe, expect, test } from "vitest";
import { Cell } from "../base/async/cell.js";
import { typedServer } from "../config/index.js";
import type { Model } from "../models/index.js";
import { fakeWorld } from "../testing/index.js";
import { type KeptDecision, type Selection, SessionCatalog, type ToolDefinition } from "../tools/index.js";
import { type CommandContext, commandOf, OWN_COMMANDS, promptNameIn, runCommand } from "./commands.js";
import type { ServerChange, ServerStatus } from "./events.js";
import type { SettingName, SettingsView } from "./settings.js";
import type { ToolControls } from "./tools/tools.js";

const { signal } = new AbortController();

function controls(): ToolControls {
  const catalog = new SessionCatalog();
  const tools = new Cell<readonly ToolDefinition[]>([
    { name: "echo", description: "Says it back", inputSchema: { type: "object" } },
    { name: "hidden", description: "Sends `mail`\nfar away", inputSchema: { type: "object" } },
  ]);
  const call = () => Promise.reject(new Error("not called here"));
  catalog.add({ name: "s", origin: "client", tools, call }, { includeByTool: { hidden: "search" } });
  return {
    list: () => catalog.peek().tools,
    add: (source) => catalog.add(source),
    clear: () => {},
    search: (request) => catalog.search(request, signal),
    include: (name): Selection => catalog.addTool(name),
    remove: (name): Selection => catalog.removeTool(name),
    setInclude: (name, mode) => catalog.setInclude(name, mode),
    all: () => catalog.all(),
    onChange: (listener) => catalog.onChange(listener),
    why: (name) => catalog.why(name),
    inspect: () => catalog.inspect(),
  };
}

const SERVERS: readonly ServerStatus[] = [
  { name: "s", origin: "client", state: "ready", toolCount: 2, problems: ['tool "x" is left out: no name'] },
  { name: "bad", origin: "user", state: "failed", toolCount: 0, error: "exit code 1\nno key", hint: "Set a key." },
];

const VIEW: SettingsView = {
  mode: "ask",
  modes: ["ask"],
  model: "a/one",
  models: ["a/one", "b/two"],
  thinking: "default",
  thinkingLevels: [],
  include: "always",
  includes: ["always"],
  sandbox: "off",
  sandboxes: ["off"],
};

// oxlint-disable-next-line require-yield -- a model nobody asks
const MODEL: Model = { id: "a/one", async *stream() {} };

const KEPT: KeptDecision = {
  id: `never-${"ab".repeat(16)}`,
  decision: { kind: "never", origin: "user", server: "s", tool: "echo" },
  decidedAt: "2026-01-01T00:00:00Z",
};

const WORLD = fakeWorld({ env: { TOKEN: "t0ken", HOME: "/home/me" } });

interface Done {
  readonly switched: string[];
  readonly set: [SettingName, string][];
  readonly said?: string[];
}

function around(
  done: Done,
): Pick<
  CommandContext,
  "servers" | "typedServer" | "permissions" | "grantServer" | "logins" | "show" | "settings" | "commands"
> {
  const switched = (what: string): ServerChange => {
    done.switched.push(what);
    return what.endsWith("nobody") ? { ok: false, reason: "no such server" } : { ok: true, text: "Done." };
  };
  return {
    commands: OWN_COMMANDS,
    typedServer: (words) => typedServer(words, { world: WORLD, cwd: "/project", allowHosts: [], signal }),
    servers: {
      open: [],
      statuses: SERVERS,
      connected: async () => {},
      restart: async (name) => switched(`restart ${name}`),
      enable: (name) => switched(`enable ${name}`),
      disable: (name) => switched(`disable ${name}`),
      add: async (spec) => switched(`add ${JSON.stringify(spec)}`),
      remove: async (name) => switched(`remove ${name}`),
    },
    permissions: {
      decisions: async () => ({ session: [{ kind: "edits" }], kept: [KEPT] }),
      revoke: async (decision) => {
        done.switched.push(`revoke ${"decision" in decision ? decision.id : decision.kind}`);
      },
    },
    grantServer: async (name) => (name === "s" ? ["echo", "hidden"] : undefined),
    logins: {
      login: async (name, { show, isPasted }) => {
        await show("the page");
        return switched(`login ${name}${isPasted ? ", pasted" : ""}`);
      },
    },
    show: async (text) => {
      done.said?.push(text);
    },
    settings: {
      view: VIEW,
      available: {
        first: MODEL,
        ids: VIEW.models,
        ask: async () => ({ ids: ["a/three"], problems: ["b: 401"] }),
        problemOf: () => undefined,
        open: () => MODEL,
      },
      set: (name, value) => {
        if (value === "nonsense") throw new Error('There is no model "nonsense".');
        done.set.push([name, value]);
      },
    },
  };
}

async function say(
  prompt: string,
  tools = controls(),
  done: Done = { switched: [], set: [] },
  may?: CommandContext["may"],
): Promise<string> {
  const invocation = commandOf(prompt);
  if (!invocation) throw new Error("not a command");
  const usage = { inputTokens: 1_200, outputTokens: 30, cachedInputTokens: 1_000, costUsd: 0.01 };
  const compact = async () => {};
  const isRemote = may?.isLocal === false;
  const typed = (words: string) =>
    typedServer(words, { world: WORLD, cwd: "/project", allowHosts: [], signal, isRemote });
  const context = {
    tools,
    usage,
    compact,
    callTool: async () => {},
    signal,
    ...around(done),
    typedServer: typed,
    ...(may ? { may } : {}),
  };
  return await runCommand(invocation, context);
}

test.each(["hello", "/etc/hosts", "/usr is full", "a /why b", "/", "/Why x"])("%s is for the model", (prompt) => {
  expect(commandOf(prompt)).toBeUndefined();
});

test("an unknown word alone is answered, not sent to the model", async () => {
  expect(await say("/nonsense")).toContain("/help");
});

describe("/tools", () => {
  test("shows what is offered and what is behind search", async () => {
    const text = await say("/tools");
    expect(text).toContain("`mcp__s__echo`");
    expect(text).toContain("1 more are behind search: s (1)");
  });

  test("with words searches; what servers say stays on its line", async () => {
    expect(await say("/tools mail far")).toBe("- `mcp__s__hidden` Sends 'mail' far away (1.00, behind search)");
    expect(await say("/tools zzz")).toContain("Nothing");
  });

  test("add puts a tool in front of the model, and says when there is none of that name", async () => {
    const tools = controls();
    expect(await say("/tools add hidden", tools)).toContain("offered from the next model call on");
    expect(tools.list().map(({ id }) => id)).toContain("mcp__s__hidden");
    expect(await say("/tools add nothing", tools)).toContain("Nothing changed");
  });

  test("remove takes a tool away, or all of a server, until it is brought back", async () => {
    const tools = controls();
    const names = () => tools.list().map(({ id }) => id as string);
    expect(await say("/tools remove echo", tools)).toContain("`/tools always echo` brings it back");
    expect(names()).not.toContain("mcp__s__echo");
    expect(await say("/why echo", tools)).toContain("the person removed it from this session");
    expect(await say("/tools remove nothing", tools)).toContain("Nothing changed");
    await say("/tools add echo", tools);
    expect(names()).toContain("mcp__s__echo");
    await say("/tools remove s", tools);
    expect(names().filter((id) => id.startsWith("mcp__"))).toEqual([]);
    expect(await say("/tools mail far", tools)).toContain("Nothing of this session's tools matches");
    await say("/tools always s", tools);
    expect(names()).toContain("mcp__s__echo");
  });

  test("agent is another name of search", async () => {
    expect(await say("/tools agent s/echo")).toContain('in mode "search"');
  });

  test("a mode can be changed for a tool", async () => {
    const tools = controls();
    expect(await say("/tools always s/hidden", tools)).toContain('in mode "always"');
    expect(tools.list()).toHaveLength(2);
  });
});

test("/why answers for a tool and asks for one", async () => {
  expect(await say("/why hidden")).toContain('"search"');
  expect(await say("/why")).toContain("Say which tool");
});

test("/mcp names every server, what is wrong with it and what to do", async () => {
  const text = await say("/mcp");
  expect(text).toContain("- **s** (client): ready, 2 tools");
  expect(text).toContain("exit code 1 no key");
  expect(text).toContain("Set a key.");
  expect(text).toContain("is left out");
});

test("/cost tells tokens and price", async () => {
  expect(await say("/cost")).toBe("1200 tokens in, 1000 of them from the provider's cache; 30 out. About $0.0100.");
});

test("/compact leaves what came of it to its events", async () => {
  expect(await say("/compact")).toBe("");
});

test("/help lists every command with what it takes", async () => {
  const text = await say("/help");
  for (const name of ["mcp", "tools", "why", "help"]) expect(text).toContain(`\`/${name}`);
});

describe("/mcp with a verb", () => {
  test.each(["restart", "enable", "disable", "remove"])("%s is for one server, by its name", async (verb) => {
    const done: Done = { switched: [], set: [] };
    expect(await say(`/mcp ${verb} my server`, controls(), done)).toBe("Done.");
    expect(done.switched).toEqual([`${verb} my server`]);
    expect(await say(`/mcp ${verb} nobody`)).toBe("Nothing changed: no such server.");
    expect(await say(`/mcp ${verb}`)).toContain("Say which server");
  });

  test("add takes a url or a command, quoted where it must be", async () => {
    const done: Done = { switched: [], set: [] };
    await say('/mcp add files npx -y "a package" --all', controls(), done);
    await say("/mcp add web https://example.org/mcp", controls(), done);
    expect(done.switched).toEqual([
      'add {"kind":"stdio","name":"files","command":"npx","args":["-y","a package","--all"],"env":{}}',
      'add {"kind":"http","name":"web","url":"https://example.org/mcp","headers":{}}',
    ]);
    expect(await say("/mcp add alone")).toContain("/mcp add <server> <url>");
  });

  test("add takes the words of tenon mcp add: --, quotes, variables, headers", async () => {
    const done: Done = { switched: [], set: [] };
    await say(
      `/mcp add --env 'KEY=a b' gh --env=TOKEN=\${TOKEN} -- npx  -y "say \\"hi\\"" it\\ is --env X='' C:\\dir`,
      controls(),
      done,
    );
    await say(
      "/mcp add web --type sse https://example.org/sse --header 'Authorization: Bearer ${TOKEN}'",
      controls(),
      done,
    );
    await say("/mcp add plain -- https://looks.like/a-url", controls(), done);
    expect(done.switched.map((one) => JSON.parse(one.slice("add ".length)))).toEqual([
      {
        kind: "stdio",
        name: "gh",
        command: "npx",
        args: ["-y", 'say "hi"', "it is", "--env", "X=", "C:\\dir"],
        env: { KEY: "a b", TOKEN: "t0ken" },
      },
      { kind: "sse", name: "web", url: "https://example.org/sse", headers: { Authorization: "Bearer t0ken" } },
      { kind: "stdio", name: "plain", command: "https://looks.like/a-url", args: [], env: {} },
    ]);
  });

  test.each([
    ["gh --env TOKEN=${MISSING} -- npx", "the environment variable MISSING is not set"],
    ["gh --env KEY='!pass' -- npx", "the user's own configuration only"],
    ["gh --env nothing -- npx", "expected --env NAME=VALUE"],
    ["gh --env", "--env lacks its value"],
    ["gh --project -- npx", "there is no option --project here"],
    ["gh -y", "there is no option -y here"],
    ["gh --header A=b -- npx", "--header is for servers with a url"],
    ["web https://example.org --env A=b", "--env is for servers that are started by a command"],
    ["web https://example.org more", "a url stands alone"],
    ["web --type ftp https://example.org", "--type must be"],
    ["web ftp://example.org", "begins with http://"],
    ["gh -- 'npx", "a quote (') is not closed"],
    ["gh --", "say how it is reached"],
    ["", "say how it is reached"],
    ["'' -- npx", "the name must not be empty"],
  ])("add says what is wrong with the words: %s", async (words, problem) => {
    const done: Done = { switched: [], set: [] };
    const text = await say(`/mcp add ${words}`, controls(), done);
    expect(text).toContain("Nothing changed");
    expect(text).toContain(problem);
    expect(text).toContain("tenon mcp add");
    expect(done.switched).toEqual([]);
  });

  test("the name of a server shows what is known of it", async () => {
    const text = await say("/mcp s");
    expect(text).toContain("- **s** (client): ready, 2 tools");
    expect(text).toContain("`mcp__s__echo` Says it back");
    expect(text).toContain("1 of its tools behind search");
    expect(await say("/mcp get bad")).toContain("Set a key.");
    expect(await say("/mcp nobody here")).toContain(
      'There is no server "nobody here" in this session; there are: s, bad',
    );
  });

  test("login brings the person to the page, says what came of it, and takes a pasted address where that is wanted", async () => {
    const done: Done = { switched: [], set: [], said: [] };
    expect(await say("/mcp login s", controls(), done)).toContain("Done.");
    await say("/mcp login s paste", controls(), done);
    await say("/mcp login two words paste", controls(), done);
    expect(done.switched).toEqual(["login s", "login s, pasted", "login two words, pasted"]);
    expect(done.said).toEqual(["the page", "the page", "the page"]);
    expect(await say("/mcp login nobody")).toContain("Nothing changed: no such server");
    expect(await say("/mcp login")).toContain("Say which server");
    expect(await say("/mcp frobnicate s")).toContain("restart, enable");
  });
});

describe("/permissions", () => {
  test("lists grants and refusals with their ids and what they mean", async () => {
    const text = await say("/permissions");
    expect(text).toContain("Allow file edits for the rest of this session");
    expect(text).toContain("Never allow s / echo, in any project `never-abababab`");
  });

  test("takes back by id or by name, and says when there is nothing", async () => {
    const done: Done = { switched: [], set: [] };
    expect(await say("/permissions revoke never-abababab", controls(), done)).toContain("Taken back");
    expect(await say("/permissions revoke s/echo", controls(), done)).toContain("Taken back");
    expect(await say("/permissions revoke all", controls(), done)).toContain("file edits");
    expect(await say("/permissions revoke other", controls(), done)).toContain("Nothing changed");
    expect(done.switched).toEqual([`revoke ${KEPT.id}`, `revoke ${KEPT.id}`, "revoke edits", `revoke ${KEPT.id}`]);
  });

  test("allows all tools a server has now, and names them", async () => {
    expect(await say("/permissions allow s")).toContain("`echo`, `hidden`");
    expect(await say("/permissions allow nobody")).toContain("Nothing changed");
  });
});

describe("/model", () => {
  test("shows what is in use and what else there is", async () => {
    const text = await say("/model");
    expect(text).toContain("`a/one` (in use)");
    expect(text).toContain("- `b/two`");
  });

  test("changes it, or says why not", async () => {
    const done: Done = { switched: [], set: [] };
    expect(await say("/model b/two", controls(), done)).toContain("from the next model call on");
    expect(done.set).toEqual([["model", "b/two"]]);
    expect(await say("/model nonsense")).toBe('Nothing changed: There is no model "nonsense".');
  });

  test("all asks the providers", async () => {
    expect(await say("/model all")).toBe("- `a/three`\n- could not be asked: b: 401");
  });
});

test("a prompt of a server is named by both, and takes everything after it", () => {
  expect(promptNameIn("/s:greet me and you")).toEqual({ server: "s", name: "s:greet", words: "me and you" });
  expect(promptNameIn(" /s:greet ")).toEqual({ server: "s", name: "s:greet", words: "" });
  for (const other of ["/etc/a:b", "s:greet", "/s: greet", "/mcp restart a:b"])
    expect(promptNameIn(other)).toBeUndefined();
});

describe("what a sender may do with commands", () => {
  const NEEDS: Readonly<Record<string, "approve" | "tools" | undefined>> = {
    "/mcp": undefined,
    "/mcp s": undefined,
    "/mcp get s": undefined,
    "/mcp restart s": "tools",
    "/mcp enable s": "tools",
    "/mcp disable s": "tools",
    "/mcp remove s": "tools",
    "/mcp login s": "tools",
    "/mcp login s paste": "tools",
    "/mcp add x https://example.com/mcp": "tools",
    "/mcp\tadd\ty -- /bin/sh": "tools",
    "/tools": undefined,
    "/tools mail": undefined,
    "/tools add hidden": undefined,
    "/tools remove echo": undefined,
    "/tools always echo": undefined,
    "/why echo": undefined,
    "/permissions": undefined,
    "/permissions allow s": "approve",
    "/permissions revoke all": "approve",
    "/model": undefined,
    "/model b/two": undefined,
    "/compact": undefined,
    "/cost": undefined,
    "/help": undefined,
  };
  const RIGHTS = [[], ["approve"], ["tools"], ["approve", "tools"]] as const;

  test.each(Object.entries(NEEDS))("%s", async (prompt, needed) => {
    for (const given of RIGHTS) {
      const has = (right: string) => given.some((one) => one === right);
      const done: Done = { switched: [], set: [] };
      const text = await say(prompt, controls(), done, {
        approve: has("approve"),
        tools: has("tools"),
        isLocal: true,
      });
      if (needed === undefined || has(needed)) expect(text).not.toContain("needs the scope");
      else {
        expect(text).toContain(`needs the scope "${needed}"`);
        expect(done.switched).toEqual([]);
      }
    }
  });

  test("every command is in that table", () => {
    const tested = new Set(Object.keys(NEEDS).map((prompt) => prompt.split(/\s/u)[0]?.slice(1)));
    expect(tested).toEqual(new Set(OWN_COMMANDS.map(({ name }) => name)));
  });

  test.each([
    ["y -- /bin/sh -c 'touch /tmp/owned'", "may not start programs"],
    ["y /bin/sh", "may not start programs"],
    ["y --env A=${TOKEN} -- x", "may not start programs"],
    ["y http://127.0.0.1:8080/mcp", "public https addresses only"],
    ["y https://10.0.0.1/mcp", "public https addresses only"],
    ["y https://[::1]/mcp", "public https addresses only"],
    ['y https://example.com/mcp --header "K: ${TOKEN}"', "may not use variables"],
    ["y https://example.com/mcp?k=${env:TOKEN}", "may not use variables"],
    ["y https://example.com/mcp --header K=${file:/etc/passwd}", "may not use variables"],
    ["y https://example.com/mcp --header K=keyring:key", "may not use variables"],
    ["y https://example.com/mcp --header 'K=!cat /etc/passwd'", "may not use variables"],
  ])("/mcp add %s of another machine is refused", async (words, reason) => {
    const done: Done = { switched: [], set: [] };
    const far = { approve: true, tools: true, isLocal: false };
    expect(await say(`/mcp add ${words}`, controls(), done, far)).toContain(reason);
    expect(done.switched).toEqual([]);
  });

  test("/mcp add of a public address is for other machines too", async () => {
    const done: Done = { switched: [], set: [] };
    await say("/mcp add y https://example.com/mcp", controls(), done, { approve: false, tools: true, isLocal: false });
    expect(done.switched).toHaveLength(1);
  });
});
