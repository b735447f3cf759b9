// Tenon's own tools over files, behind the built `tenon acp`: through the editor where it has buffers, else on the disk.
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { scriptedAcpServer } from "../../src/testing/index.js";
import { gate } from "../../src/testing/lab/index.js";
import { TemporaryFolder } from "./agent.js";
import { HAS_FILES, inEditor } from "./builtin/editor.js";
import { toolNamesIn } from "./providers/target.js";
import { scenario } from "./scenario.js";

scenario(
  ["L19", "L21"],
  "read_file gives the editor's unsaved buffer, and the disk where there is no editor",
  async () => {
    const files = { "notes.txt": "saved\n" };
    await inEditor({ capabilities: HAS_FILES, files, permissions: "deny" }, async (editor) => {
      const { project, desk } = editor;
      desk.buffers.set(project.at("notes.txt"), "typed and not saved\n");
      expect(await editor.call("read_file", { path: "notes.txt" })).toContain("1\\ttyped and not saved");
      expect(editor.cards).toMatchObject([
        { title: "Read notes.txt", kind: "read", status: "completed", locations: [{ path: project.at("notes.txt") }] },
      ]);
      expect(editor.questions).toEqual([]);
    });
    await inEditor({ files, permissions: "deny" }, async (editor) => {
      editor.desk.buffers.set(editor.project.at("notes.txt"), "typed and not saved\n");
      expect(await editor.call("read_file", { path: "notes.txt" })).toContain("1\\tsaved");
      expect(editor.questions).toEqual([]);
    });
  },
);

scenario(["L19", "L20", "L21"], "an edit is asked about with its diff, made in the editor, and shown on its card", () =>
  inEditor({ capabilities: HAS_FILES, files: { "src/a.ts": "one\ntwo\n" } }, async (editor) => {
    const { project, desk } = editor;
    const path = project.at("src/a.ts");
    desk.buffers.set(path, "one\ntwo, unsaved\n");
    const edits = [{ old_text: "two, unsaved", new_text: "three" }];
    const result = await editor.call("edit_file", { path: "src/a.ts", edits });
    expect(result).toContain("1 line added, 1 removed");
    const diff = { type: "diff", path, oldText: "one\ntwo, unsaved\n", newText: "one\nthree\n" };
    expect(editor.questions).toHaveLength(1);
    expect(editor.questions[0]?.toolCall).toMatchObject({
      title: "Edit src/a.ts (Tenon's edit_file)",
      kind: "edit",
      locations: [{ path, line: 2 }],
      content: [diff],
    });
    expect(desk.written).toEqual([{ path, content: "one\nthree\n" }]);
    const [card] = editor.cards;
    expect(card).toMatchObject({ id: editor.questions[0]?.toolCall.toolCallId, kind: "edit", status: "completed" });
    expect(card?.["content"]).toContainEqual(diff);
  }),
);

scenario(
  ["L19", "L20"],
  "a new file is a diff from nothing, and without the client's files it is written to the disk",
  () =>
    inEditor({}, async (editor) => {
      const { project, desk } = editor;
      expect(await editor.call("write_file", { path: "new/b.txt", content: "hello\n" })).toContain("Created new/b.txt");
      expect(project.read("new/b.txt")).toBe("hello\n");
      expect(desk.written).toEqual([]);
      const diff = { type: "diff", path: project.at("new/b.txt"), oldText: null, newText: "hello\n" };
      expect(editor.questions[0]?.toolCall.content).toEqual([diff]);
      expect(editor.cards[0]?.["content"]).toContainEqual(diff);
    }),
);

scenario(["L20", "L21"], "an edit the person refuses changes nothing, and the model hears of it", () =>
  inEditor({ capabilities: HAS_FILES, permissions: "deny", files: { "a.txt": "one\n" } }, async (editor) => {
    const edits = [{ old_text: "one", new_text: "two" }];
    expect(await editor.call("edit_file", { path: "a.txt", edits })).toContain("the person said no");
    expect(editor.project.read("a.txt")).toBe("one\n");
    expect(editor.desk.written).toEqual([]);
    expect(editor.cards).toMatchObject([{ status: "failed" }]);
  }),
);

scenario(["L20"], "an edit that cannot be made is not asked about, and says why it was not made", () =>
  inEditor({ files: { "a.txt": "one\none\n" } }, async (editor) => {
    const edits = [{ old_text: "one", new_text: "two" }];
    expect(await editor.call("edit_file", { path: "a.txt", edits })).toMatch(/a\.txt was not changed/);
    expect(editor.questions).toEqual([]);
    expect(editor.project.read("a.txt")).toBe("one\none\n");
  }),
);

scenario(["L19"], "a path outside of the session's directories is refused, also by way of a link", async () => {
  using other = new TemporaryFolder();
  const outside = realpathSync(other.path);
  writeFileSync(join(outside, "secret.txt"), "hidden words");
  await inEditor({ capabilities: HAS_FILES }, async (editor) => {
    const { project, desk } = editor;
    symlinkSync(outside, project.at("way-out"));
    const results = await editor.calls(
      { name: "read_file", arguments: { path: join(outside, "secret.txt") } },
      { name: "read_file", arguments: { path: "way-out/secret.txt" } },
      { name: "list_folder", arguments: { path: "../.." } },
      { name: "grep", arguments: { pattern: "hidden", path: "way-out" } },
      { name: "write_file", arguments: { path: "way-out/new.txt", content: "x" } },
      { name: "run_command", arguments: { command: "ls", path: "way-out" } },
    );
    for (const result of results) {
      expect(result).toContain("outside of the session's directories");
      expect(result).not.toContain("hidden words");
    }
    expect(editor.questions).toEqual([]); // nobody is asked about what cannot be done
    expect(desk.written).toEqual([]);
    expect(editor.cards.map(({ status }) => status)).toEqual(results.map(() => "failed"));
  });
});

scenario(["L21"], "tools that look around the project answer without asking, and leave out what is ignored", () =>
  inEditor(
    {
      permissions: "deny",
      files: {
        ".gitignore": "made/\n",
        "src/a.ts": "export const needle = 1;\n",
        "src/b.css": "b {}\n",
        "made/c.ts": "needle\n",
      },
    },
    async (editor) => {
      const [listed = "", found = "", matched = ""] = await editor.calls(
        { name: "list_folder", arguments: { path: "src" } },
        { name: "find_files", arguments: { pattern: "*.ts" } },
        { name: "grep", arguments: { pattern: "need.e" } },
      );
      expect(listed).toMatch(/a\.ts \(25\).*b\.css \(5\)/s);
      expect(found).toContain("src/a.ts");
      expect(found).not.toContain("made");
      expect(matched).toMatch(/src\/a\.ts.*needle = 1/s);
      expect(matched).not.toContain("made");
      expect(editor.cards.map(({ kind }) => kind)).toEqual(["read", "search", "search"]);
      expect(editor.questions).toEqual([]);
    },
  ),
);

scenario(["L21"], "reads of one answer run side by side, and a write waits for them and is asked about", async () => {
  const both = gate();
  const reading: string[] = [];
  await inEditor(
    {
      capabilities: HAS_FILES,
      files: { "a.txt": "A", "b.txt": "B" },
      onRead: async (path) => {
        reading.push(path);
        if (reading.length === 2) both.open();
        await both.opened;
      },
    },
    async (editor) => {
      const [first = "", second = "", third = ""] = await editor.calls(
        { name: "read_file", arguments: { path: "a.txt" } },
        { name: "read_file", arguments: { path: "b.txt" } },
        { name: "write_file", arguments: { path: "c.txt", content: "C" } },
      );
      expect(first).toContain("1\\tA");
      expect(second).toContain("1\\tB");
      expect(third).toContain("Created c.txt");
      expect(editor.questions.map(({ toolCall }) => toolCall.title)).toEqual(["Write c.txt (Tenon's write_file)"]);
    },
  );
});

scenario(["C2"], "Tenon's own tools check their arguments, beside a server's tool of the same name", () => {
  const inputSchema = { type: "object", properties: { path: { type: "integer" } } } as const;
  const tools = [{ name: "read_file", description: "Another one", inputSchema, reply: { kind: "echo" as const } }];
  const mcpServers = [scriptedAcpServer("other", { tools })];
  return inEditor({ mcpServers, files: { "a.txt": "mine\n" } }, async (editor) => {
    mkdirSync(editor.project.at("folder"));
    const results = await editor.calls(
      { name: "read_file", arguments: { path: "a.txt" } },
      { name: "read_file", arguments: { path: 5 } },
      { name: "read_file", arguments: { path: "a.txt", offset: 0 } },
      { name: "read_file", arguments: { file: "a.txt" } },
      { name: "read_file", arguments: { path: "folder" } },
      { name: "mcp__other__read_file", arguments: { path: 5 } },
    );
    expect(results[0]).toContain("1\\tmine");
    expect(results[1]).toMatch(/path.*string/);
    expect(results[2]).toMatch(/offset/);
    expect(results[3]).toMatch(/path/);
    expect(results[4]).toContain("use list_folder for folders");
    expect(results[5]).toContain("5");
    expect(editor.cards.map(({ status }) => status)).toEqual([
      "completed",
      "failed",
      "failed",
      "failed",
      "failed",
      "completed",
    ]);
    const offered = toolNamesIn(await editor.provider.awaitRequest(0));
    expect(offered).toEqual(expect.arrayContaining(["read_file", "mcp__other__read_file"]));
  });
});
