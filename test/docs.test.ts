// The documents against the code: generated pages are current, links lead somewhere, examples are what the code takes.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ParseError, parse } from "jsonc-parser";
import { describe, expect, test } from "vitest";
import { LIMIT_FILES, limitsIn } from "../scripts/docs/limits-page.js";
import { referencePages } from "../scripts/docs/pages.js";
import { SESSION_METHODS, SHARED_SESSION_METHODS } from "../src/acp/capabilities.js";
import { TABLE } from "../src/cli/table.js";
import { configFile } from "../src/config/layers/schema.js";
import { scopesOf } from "../src/gateway/access/principal.js";
import { GATEWAY_LIMITS } from "../src/gateway/limits.js";
import { GatewayMetrics } from "../src/gateway/server/metrics.js";
import { fakeWorld } from "../src/testing/index.js";
import { blocksIn, documents, localLinks, ROOT, shellLines } from "./docs/blocks.js";

test.each(referencePages())("$path is what `npm run docs` writes", ({ path, text }) => {
  expect(readFileSync(join(ROOT, path), "utf8")).toBe(text);
});

test.each(LIMIT_FILES)(
  "every limit of %s is in the reference, with its reason, and is a positive number",
  async (path) => {
    const described = limitsIn(readFileSync(join(ROOT, path), "utf8"));
    const groups: Record<string, Record<string, number | object>> = await import(join(ROOT, path));
    const limits = Object.values(groups).flatMap((group) => Object.entries(group));
    expect(described.map(({ name }) => name).sort()).toEqual(limits.map(([name]) => name).sort());
    expect(described.filter(({ reason }) => reason.trim() === "")).toEqual([]);
    const numbers = limits.flatMap(([name, limit]) =>
      Object.values(typeof limit === "number" ? [limit] : limit).map((value) => ({ name, value })),
    );
    expect(numbers.filter(({ value }) => typeof value === "number" && value <= 0)).toEqual([]);
  },
);

/** What it prints is for another program already. */
const FOR_PROGRAMS = ["acp", "completion", "serve", "wrap"];

test("every command has a summary, an example and --json", () => {
  const commands = TABLE.flatMap((entry) => (entry.kind === "command" ? [entry] : entry.commands));
  expect(commands.filter(({ summary, examples }) => summary === "" || Object.keys(examples).length === 0)).toEqual([]);
  const mute = commands.filter(({ name, options }) => !("json" in options) && !FOR_PROGRAMS.includes(name));
  expect(mute.map(({ name }) => name)).toEqual([]);
  const lines = commands.flatMap(({ examples }) => Object.keys(examples));
  expect(lines.filter((line) => !/(?:^|\$\()tenon /u.test(line))).toEqual([]);
});

test.each(documents())("the links of %s lead somewhere", (file) => {
  expect(localLinks(file).filter((target) => !existsSync(join(ROOT, target)))).toEqual([]);
});

/** The names in the first column, or another one, of the tables below a heading of any level. */
function namesIn(page: string, heading: string, column = 1): readonly string[] {
  return rowsIn(page, heading).flatMap((row) => {
    return [...(row[column] ?? "").matchAll(/`([^`]+)`/gu)].map(([, name = ""]) => name);
  });
}

/** Cells from 1 on, without heads and rules. */
function rowsIn(page: string, heading: string): readonly (readonly string[])[] {
  const section = page.split(/^##+ /mu).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const lines = section.match(/^\|.*$/gmu) ?? [];
  const isHead = (at: number) => /^\|[-| ]+$/u.test(lines[at + 1] ?? "") || /^\|[-| ]+$/u.test(lines[at] ?? "");
  return lines.filter((_, at) => !isHead(at)).map((line) => line.split("|").map((cell) => cell.trim()));
}

function membersOf(file: string, name: string): readonly string[] {
  const source = readFileSync(join(ROOT, file), "utf8");
  const [, body = ""] = new RegExp(`export interface ${name} \\{\n([\\s\\S]*?)\n\\}`, "u").exec(source) ?? [];
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gmu)].map(([, member = ""]) => member);
}

test("docs/reference/acp.md has every method and every field of _meta that is Tenon's own, and no other", () => {
  const page = readFileSync(join(ROOT, "docs/reference/acp.md"), "utf8");
  const sources = readdirSync(join(ROOT, "src/acp")).filter((name) => !name.endsWith(".test.ts"));
  const texts = sources.map((name) => ({ name, text: readFileSync(join(ROOT, "src/acp", name), "utf8") }));
  const methods = texts.flatMap(({ text }) =>
    [...text.matchAll(/"(_tenon\/[^"]+)"/gu)].map(([, method = ""]) => method),
  );
  expect(namesIn(page, "Methods").toSorted()).toEqual([...new Set(methods)].toSorted());
  const same = (heading: string, file: string, name: string) => {
    const members = membersOf(file, name);
    expect(members.length).toBeGreaterThan(0);
    expect(namesIn(page, heading).toSorted(), heading).toEqual(members.toSorted());
  };
  same("Fields a client may send", "src/acp/meta.ts", "ReceivedMeta");
  same("Fields Tenon sends", "src/acp/meta.ts", "SentMeta");
  same("The status of a server", "src/session/events.ts", "ServerStatus");
  // All of them go through meta.ts, so that these are all.
  const others = texts.filter(({ name, text }) => {
    const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gmu, "");
    return name !== "meta.ts" && /\btenon: \{|\["tenon"\]|(?<!\.)\.tenon\b(?!\.)/u.test(code);
  });
  expect(others.map(({ name }) => name)).toEqual([]);
});

describe("docs/reference/gateway.md", () => {
  const page = readFileSync(join(ROOT, "docs/reference/gateway.md"), "utf8");
  const source = (name: string) => readFileSync(join(ROOT, "src/gateway", name), "utf8");
  const literals = (text: string) => [...text.matchAll(/"([^"]+)"/gu)].map(([, literal = ""]) => literal);
  /** From one text to another. */
  const part = (text: string, from: string, to: string) => {
    const [, rest = ""] = text.split(from);
    expect(rest, from).not.toBe("");
    return rest.split(to)[0] ?? "";
  };

  test.each([
    ["Answer to `initialize`", "gateway/protocol.ts", "InitializeAnswerMeta", "GatewayCapability"],
    ["`session_info_update`", "session/events.ts", "SessionInfo"],
    ["`session/list`", "gateway/protocol.ts", "ListedSessionMeta"],
    ["The view of a session", "acp/session-methods.ts", "WireView"],
    ["An open question", "gateway/protocol.ts", "OpenQuestion"],
    ["The status of a gateway", "gateway/protocol.ts", "GatewayStatus"],
    ["A change", "gateway/protocol.ts", "GatewayChange"],
    ["A token", "gateway/protocol.ts", "ListedToken"],
  ])("has every field of %s, and no other", (heading, file, ...names) => {
    const members = names.flatMap((name) => {
      const found = membersOf(`src/${file}`, name);
      expect(found.length, name).toBeGreaterThan(0);
      return found;
    });
    expect(namesIn(page, heading).toSorted()).toEqual(members.toSorted());
  });

  test("has every field that a client may send", () => {
    const reader = source("sessions/client-access.ts");
    const read = [...reader.matchAll(/(?:meta|given)\["(\w+)"\]|(?:In|Of)\((?:meta|given), "(\w+)"\)/gu)];
    const names = [...read.map(([, one, other]) => one ?? other ?? ""), "role", "unattended", "promptId"];
    const headings = ["`initialize`", "`session/new`", "`session/load` and `session/resume`", "`session/prompt`"];
    const shown = headings.flatMap((heading) => namesIn(page, heading));
    const answered = ["turn", "seq"]; // of a prompt
    expect([...new Set(shown)].toSorted()).toEqual([...new Set([...names, ...answered])].toSorted());
  });

  test("has every method, each with the scope it needs", () => {
    const own = part(source("sessions/gateway-methods.ts"), 'readonly methods: SharedAccess["methods"] = {', "\n  };");
    const methods = [...SESSION_METHODS, ...SHARED_SESSION_METHODS, ...literals(own)];
    expect(namesIn(page, "Methods").toSorted()).toEqual(methods.toSorted());
    const known = part(source("access/principal.ts"), "const METHODS", "\n};");
    const listed = rowsIn(page, "Scopes").flatMap(([, scope = "", names = ""]) => {
      return [...names.matchAll(/`([^`]+)`/gu)].map(([, method = ""]) => {
        const more = method === "_tenon/session/call_tool" ? ["prompt"] : [];
        expect(scopesOf(method, undefined), method).toEqual([scope.replaceAll("`", ""), ...more]);
        return method;
      });
    });
    expect(listed.toSorted()).toEqual(literals(known).toSorted());
    expect(methods.filter((method) => !listed.includes(method))).toEqual([]);
  });

  test("has every reason of a refusal with its status, and every event of the audit file", () => {
    const statuses = part(source("access/guard.ts"), "const STATUS", "\n};");
    const expected = [...statuses.matchAll(/^ {2}(\w+): (\d+),/gmu)].map(([, reason, status]) => `${status} ${reason}`);
    expect(expected.length).toBeGreaterThan(10);
    const shown = rowsIn(page, "Routes").flatMap(([, status = "", names = ""]) => {
      if (!/^\d+$/u.test(status)) return [];
      return [...names.matchAll(/`([^`]+)`/gu)].map(([, reason]) => `${status} ${reason}`);
    });
    expect(shown.toSorted()).toEqual(expected.toSorted());
    const events = literals(part(source("access/audit.ts"), "export type AuditEvent =", "\n\n"));
    expect(namesIn(page, "Audit file").toSorted()).toEqual(events.toSorted());
  });

  test("has limits with the values they have", () => {
    const rows = rowsIn(page, "Limits");
    expect(rows.length).toBeGreaterThan(10);
    for (const [, name = "", value = ""] of rows) {
      const found = name
        .replaceAll("`", "")
        .split(".")
        .reduce<unknown>((at, key) => Object.entries(Object(at)).find(([own]) => own === key)?.[1], GATEWAY_LIMITS);
      expect(Number(value.replaceAll(",", "")), name).toBe(found);
    }
  });

  test("has every figure of /metrics", async () => {
    const figures = () => ({
      ...{ clients: 0, questions: 0, oldestQuestionMs: 0, turns: 0, records: 0 },
      sessions: { resting: 0, idle: 0, running: 0, waiting: 0 },
      node: {
        appendBatches: 0,
        appendMs: 0,
        refusedAppends: 0,
        appendedRecords: 0,
        leaseLeftMs: 0,
        inboxDepth: 0,
        takeovers: 0,
      },
    });
    const metrics = new GatewayMetrics(fakeWorld(), { figures, connections: () => ({ websocket: 0 }) });
    const names = [...(await metrics.text()).matchAll(/^# TYPE (\S+)/gmu)].map(([, name = ""]) => name);
    expect(namesIn(page, "Figures").toSorted()).toEqual(names.toSorted());
  });
});

const blocks = documents().flatMap(blocksIn);

test("every block says what it is, so that it can be checked", () => {
  // `typescript` is a declaration of the API report, which is compared as a whole.
  const known = ["sh", "text", "json", "ndjson", "ts", "typescript", "lua", "elisp"];
  expect(blocks.filter(({ language }) => !known.includes(language)).map(({ file, line }) => `${file}:${line}`)).toEqual(
    [],
  );
});

test.each(blocks.filter(({ language }) => language === "json"))(
  "the configuration at $file:$line is one",
  ({ text }) => {
    const errors: ParseError[] = [];
    const value: unknown = parse(text, errors, { allowTrailingComma: true });
    expect(errors).toEqual([]);
    expect(configFile.safeParse(value).error).toBeUndefined();
  },
);

/** What the words of a line begin with that is no command of ours. */
const OTHERS = ["npm", "eval"];

test.each(blocks.filter(({ language }) => language === "sh").flatMap(shellLines))(
  "the command at $file:$line exists",
  ({ command }) => {
    const [program = "", name = "", sub = ""] = command.replace(/^(?:[A-Z_]+=(?:"[^"]*"|\S+) )+/u, "").split(/\s+/u);
    if (OTHERS.includes(program)) return;
    expect(program).toBe("tenon");
    const entry = TABLE.find((one) => one.name === name);
    expect(entry?.name).toBe(name);
    if (entry?.kind === "group" && sub !== "") expect(entry.commands.map((one) => one.name)).toContain(sub);
  },
);
