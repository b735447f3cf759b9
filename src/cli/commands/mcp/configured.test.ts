// `tenon mcp` and `tenon trust` in a world of files in memory: what is printed, masked, asked and kept.
import { describe, expect, it } from "vitest";
import { Terminal } from "../../../../test/terminal.js";

const USER = "/home/me/.config/tenon/config.json";
const SHARED = "/project/.mcp.json";

const PROJECT = { mcpServers: { build: { command: "run", args: ["x"] }, other: { command: "run" } } };

describe("tenon mcp list", () => {
  it("shows every layer with its standing, its place and the reason, and no secret", async () => {
    const files = {
      [USER]: {
        mcpServers: {
          a: { command: "run", args: ["--token", "s3cret", "two words"], env: { KEY: "s3cret" } },
          b: { url: "https://example.com/?api_key=s3cret", disabled: true },
          build: { command: "run" },
          asks: { command: "run", env: { X: "!op read it" } },
        },
      },
      [SHARED]: { mcpServers: { build: PROJECT.mcpServers.build, bad: { comand: "run" } } },
    };
    const at = (file: typeof USER | typeof SHARED, key: string) =>
      `${file}:1:${JSON.stringify(files[file]).indexOf(`"${key}":`) + 1}`;
    const home = (place: string) => place.replace("/home/me/", "~/");
    const terminal = new Terminal(files);
    const { code, out, err } = await terminal.run("mcp", "list", "--no-connect");
    expect(code).toBe(0);
    expect(out.split("\n").map((line) => line.replaceAll(/ {2,}/gu, "  ").trimEnd())).toEqual([
      `· build  configured  user ${home(at(USER, "build"))}  run`,
      `? build  untrusted  project ${at(SHARED, "build")}  run x`,
      `  not trusted yet; it comes from the project (${at(SHARED, "build")}): see tenon trust`,
      `✗ bad  invalid  project ${at(SHARED, "bad")}`,
      `  ${at(SHARED, "comand")}: server "bad": unknown key "comand"; did you mean "command"?`,
      `· a  configured  user ${home(at(USER, "a"))}  run --token ******** "two words"`,
      `– b  disabled  user ${home(at(USER, "b"))}  https://example.com/?api_key=********`,
      `  disabled in ${at(USER, "b")}`,
      `· asks  configured  user ${home(at(USER, "asks"))}  run`,
      "",
    ]);
    expect(err).toBe("");
    expect(terminal.world.children).toEqual([]);
  });

  it("is one JSON text for programs, with no hidden character in it", async () => {
    const terminal = new Terminal({ [USER]: { mcpServers: { "a\u202eb": { command: "run", env: { TOKEN: "x" } } } } });
    const { out } = await terminal.run("mcp", "list", "--no-connect", "--json");
    expect(out).not.toContain("\u202e");
    expect(JSON.parse(out)).toMatchObject({ project: "/project", notices: [] });
    expect(out).not.toContain('"TOKEN": "x"');
  });
});

describe("tenon mcp", () => {
  it("changes the file it is told to, and says which", async () => {
    const terminal = new Terminal({ [SHARED]: PROJECT });
    expect((await terminal.run("mcp", "add", "mine", "--", "run", "it")).out).toBe(
      `mine added in ${USER}\nnext: tenon mcp test mine\n`,
    );
    expect((await terminal.run("mcp", "add", "mine", "--", "run")).code).toBe(3);
    expect((await terminal.run("mcp", "add", "mine", "--replace", "--", "run")).out).toContain("replaced");
    expect((await terminal.run("mcp", "add", "ours", "--project", "--", "run")).out).toContain("/.tenon/config.json");
    expect((await terminal.run("mcp", "disable", "other")).err).toContain("Add --project");
    expect((await terminal.run("mcp", "disable", "other", "--project")).out).toContain(SHARED);
    expect((await terminal.run("mcp", "get", "other")).out).toContain("disabled");
  });

  it("exits 3 with a reason where there is no home", async () => {
    const terminal = new Terminal({}, { HOME: "" });
    const { code, out, err } = await terminal.run("mcp", "add", "--json", "x", "run");
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({ error: { code: "config.unreadable" } });
    expect(err).toContain("HOME is not set");
  });
});

describe("tenon trust", () => {
  it("approves one by its name after showing it, and finds nothing to do the second time", async () => {
    const terminal = new Terminal({ [SHARED]: PROJECT });
    const { code, out } = await terminal.run("trust", "approve", "build");
    expect(code).toBe(0);
    for (const part of ['args: ["x"]', "starts: /usr/bin/run", 'approved: server "build"']) expect(out).toContain(part);
    expect(out).not.toContain('"other"');
    expect((await terminal.run("trust", "approve", "build")).out).toBe("This is approved already.\n");
    const listed = JSON.parse((await terminal.run("trust", "--json")).out);
    expect(listed).toMatchObject({ questions: [{ server: "other" }], decisions: [{ server: "build" }] });
  });

  it("approves what was denied, denies what was approved, and forgets both", async () => {
    const terminal = new Terminal({ [SHARED]: PROJECT });
    const status = async () => {
      const { servers } = JSON.parse((await terminal.run("mcp", "get", "build", "--json")).out);
      return `${servers[0].status} ${servers[0].isDenied ?? ""}`.trim();
    };
    await terminal.run("trust", "deny", "build");
    expect(await status()).toBe("untrusted true");
    await terminal.run("trust", "approve", "build");
    expect(await status()).toBe("ready");
    await terminal.run("trust", "deny", "build");
    expect(await status()).toBe("untrusted true");
    expect((await terminal.run("trust", "revoke", "build")).out).toMatch(/^revoked: server "build" denied /u);
    expect(await status()).toBe("untrusted false");
    expect((await terminal.run("trust", "revoke", "build")).code).toBe(3);
  });

  it("decides on the settings alone, whatever was decided before, and forgets that decision alone", async () => {
    const terminal = new Terminal({ [SHARED]: PROJECT, "/project/.tenon/config.json": { model: "offline/operator" } });
    const standing = async () => {
      const { decisions, questions } = JSON.parse((await terminal.run("trust", "--json")).out);
      const settings = decisions.find((decision: { server?: string }) => decision.server === undefined);
      const isAsked = questions.some((question: { server?: string }) => question.server === undefined);
      return `${settings?.decision ?? "undecided"}${isAsked ? ", asked" : ""}`;
    };
    await terminal.run("trust", "approve", "build");
    expect(await standing()).toBe("undecided, asked");
    expect((await terminal.run("trust", "approve", "--settings")).out).toContain("approved: settings");
    expect((await terminal.run("trust", "approve", "--settings")).out).toBe("This is approved already.\n");
    expect(await standing()).toBe("approved");
    expect((await terminal.run("trust", "deny", "--settings")).code).toBe(0);
    expect(await standing()).toBe("denied");
    expect((await terminal.run("trust", "approve", "--settings")).code).toBe(0);
    expect(await standing()).toBe("approved");
    expect((await terminal.run("trust", "revoke", "--settings")).out).toMatch(/^revoked: settings approved [^\n]*\n$/u);
    expect(await standing()).toBe("undecided, asked");
    expect((await terminal.run("trust", "revoke", "--settings")).code).toBe(3);
    expect(JSON.parse((await terminal.run("trust", "--json")).out).decisions).toMatchObject([{ server: "build" }]);
    const without = new Terminal({ [SHARED]: PROJECT });
    for (const verb of ["approve", "deny", "revoke"]) {
      expect((await without.run("trust", verb, "--settings")).code).toBe(3);
    }
  });

  it.each([
    ["yes", 0, []],
    ["y", 3, ["build", "other"]],
    ["", 3, ["build", "other"]],
    [undefined, 3, ["build", "other"]],
  ])("takes %j for --all as the person's word", async (answer, code, open) => {
    const terminal = new Terminal({ [SHARED]: PROJECT });
    terminal.isAttended = true;
    terminal.answer = answer;
    const approved = await terminal.run("trust", "approve", "--all");
    expect(approved.code).toBe(code);
    expect(approved.out).toContain('has the server "other"');
    expect(terminal.asked).toEqual(["Approve all 2 of these? Type yes: "]);
    const { questions }: { questions: { server: string }[] } = JSON.parse((await terminal.run("trust", "--json")).out);
    expect(questions.map(({ server }) => server).sort()).toEqual(open);
  });

  it("approves nothing with --all where nobody is asked, nor for a program", async () => {
    const terminal = new Terminal({ [SHARED]: PROJECT });
    expect((await terminal.run("trust", "approve", "--all")).code).toBe(3);
    terminal.isAttended = true;
    terminal.answer = "yes";
    expect((await terminal.run("trust", "approve", "--all", "--json")).code).toBe(3);
    expect(terminal.asked).toEqual([]);
  });

  it("says why an entry cannot be decided on", async () => {
    const terminal = new Terminal({ [SHARED]: { mcpServers: { bad: { command: 7 } } }, [USER]: PROJECT });
    expect((await terminal.run("trust", "approve", "bad")).err).toContain("command must be a text");
    expect((await terminal.run("trust", "approve", "build")).err).toContain('has no server "build"');
  });
});
