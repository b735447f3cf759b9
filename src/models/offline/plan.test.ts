// Natural requests against tools as real servers define them.
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../base/json/json.js";
import type { ModelTool } from "../model.js";
import { plan } from "./plan.js";

const string: JsonObject = { type: "string" };
const number: JsonObject = { type: "number" };
const strings: JsonObject = { type: "array", items: string };

/** `a*` is required. */
function tool(name: string, title: string, description: string, parameters: Record<string, JsonObject>): ModelTool {
  const required = Object.keys(parameters).filter((key) => key.endsWith("*"));
  const properties = Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key.replace("*", ""), value]),
  );
  const inputSchema = { type: "object", properties, required: required.map((key) => key.replace("*", "")) };
  return { name, ...(title === "" ? {} : { title }), description, inputSchema };
}

const everything: ModelTool[] = [
  tool("mcp__everything__echo", "Echo Tool", "Echoes back the input string", { "message*": string }),
  tool("mcp__everything__get-env", "Print Environment Tool", "Returns all environment variables", {}),
  tool("mcp__everything__get-structured-content", "Get Structured Content Tool", "Returns structured content", {
    "location*": { type: "string", enum: ["New York", "Chicago", "Los Angeles"], description: "Choose city" },
  }),
  tool("mcp__everything__get-sum", "Get Sum Tool", "Returns the sum of two numbers", { "a*": number, "b*": number }),
  tool("mcp__everything__get-tiny-image", "Get Tiny Image Tool", "Returns a tiny MCP logo image.", {}),
  tool(
    "mcp__everything__trigger-long-running-operation",
    "Trigger Long Running Operation Tool",
    "Demonstrates a long running operation with progress updates.",
    {
      duration: { type: "number", default: 10, description: "Duration of the operation in seconds" },
      steps: { type: "number", default: 5, description: "Number of steps in the operation" },
    },
  ),
  tool("mcp__everything__simulate-research-query", "Simulate Research Query", "Simulates a deep research operation", {
    "topic*": string,
    ambiguous: { type: "boolean" },
  }),
];

const filesystem: ModelTool[] = [
  tool("mcp__files__read_file", "Read File (Deprecated)", "Read a file as text. DEPRECATED: Use read_text_file.", {
    "path*": string,
  }),
  tool("mcp__files__read_text_file", "Read Text File", "Read the complete contents of a file as text.", {
    "path*": string,
    tail: { type: "number", description: "If provided, returns only the last N lines of the file" },
    head: { type: "number", description: "If provided, returns only the first N lines of the file" },
  }),
  tool("mcp__files__read_multiple_files", "Read Multiple Files", "Read the contents of multiple files at once.", {
    "paths*": strings,
  }),
  tool("mcp__files__write_file", "Write File", "Create a new file or overwrite an existing file with new content.", {
    "path*": string,
    "content*": string,
  }),
  tool("mcp__files__create_directory", "Create Directory", "Create a new directory.", { "path*": string }),
  tool("mcp__files__list_directory", "List Directory", "Get a listing of all files and directories in a path.", {
    "path*": string,
  }),
  tool("mcp__files__move_file", "Move File", "Move or rename files and directories.", {
    "source*": string,
    "destination*": string,
  }),
  tool("mcp__files__search_files", "Search Files", "Recursively search for files matching a pattern.", {
    "path*": string,
    "pattern*": string,
  }),
];

const memory: ModelTool[] = [
  tool("mcp__memory__create_entities", "Create Entities", "Create multiple new entities in the knowledge graph", {
    "entities*": {
      type: "array",
      items: {
        type: "object",
        properties: { name: string, observations: strings },
        required: ["name", "observations"],
      },
    },
  }),
  tool("mcp__memory__delete_entities", "Delete Entities", "Delete multiple entities", { "entityNames*": strings }),
  tool("mcp__memory__read_graph", "Read Graph", "Read the entire knowledge graph", {}),
  tool("mcp__memory__search_nodes", "Search Nodes", "Search for nodes in the knowledge graph", { "query*": string }),
  tool("mcp__memory__open_nodes", "Open Nodes", "Open specific nodes by their names", { "names*": strings }),
];

const git: ModelTool[] = [
  tool("mcp__git__git_add", "Git Add", "Stage files for commit.", {
    path: { type: "string", description: "Path to the Git repository." },
    paths: strings,
  }),
  tool("mcp__git__git_commit", "Git Commit", "Create a new commit with staged changes.", {
    path: { type: "string", description: "Path to the Git repository." },
    "message*": string,
    amend: { type: "boolean" },
  }),
  tool("mcp__git__git_log", "Git Log", "View commit history with optional filtering.", {
    path: { type: "string", description: "Path to the Git repository." },
    maxCount: { type: "integer", description: "Maximum number of commits to return." },
    filePath: { type: "string", description: "Show commits that affected this file." },
  }),
  tool("mcp__git__git_status", "Git Status", "Show the working tree status.", {
    path: { type: "string", description: "Path to the Git repository." },
  }),
  tool("mcp__git__git_merge", "Git Merge", "Merge branches together.", { "branch*": string }),
  tool("mcp__git__git_show", "Git Show", "Show details of a git object.", { "object*": string }),
];

const others: ModelTool[] = [
  tool("mcp__github__create_issue", "", "Create a new issue in a GitHub repository", {
    "owner*": string,
    "repo*": string,
    "title*": string,
    body: string,
  }),
  tool("mcp__postgres__query", "", "Run a read-only SQL query", { sql: string }),
  tool("mcp__web__navigate", "Navigate", "Navigate to a URL", { "url*": string }),
  tool("mcp__web__resize_window", "", "Resize the window", { "width*": number, "height*": number }),
  tool("mcp__notes__add_note", "Add a note", "Adds a note", { "title*": string, "text*": string }),
  tool("mcp__notes__list_notes", "List notes", "Lists all notes", {}),
];

const all = [...everything, ...filesystem, ...memory, ...git, ...others];

/** What a request becomes: `tool {arguments}` for each step, or the first line of the explanation. */
function planned(request: string, tools: readonly ModelTool[] = all): string[] {
  return plan(request, tools).map((step) => {
    if (step.kind === "search") return `search ${step.query}`;
    return step.kind === "call"
      ? `${step.tool.name.split("__").at(-1)} ${JSON.stringify(step.arguments)}`
      : (step.text.split("\n")[0] ?? "");
  });
}

describe("a request becomes a call", () => {
  test.each([
    ["please echo hi", 'echo {"message":"hi"}'],
    ['Echo the message "hello there"', 'echo {"message":"hello there"}'],
    ["say hello to Bob", 'echo {"message":"hello to Bob"}'],
    ["echo I have 2 cats and 3 dogs", 'echo {"message":"I have 2 cats and 3 dogs"}'],
    ["echo please list the files here", 'echo {"message":"please list the files here"}'],
    ["Echo this back to me: the quick brown fox", 'echo {"message":"the quick brown fox"}'],
    ["use mcp__everything__echo with message=ping", 'echo {"message":"ping"}'],
    ['mcp__everything__echo {"message":"json"}', 'echo {"message":"json"}'],
    ["add 2 and 40", 'get-sum {"a":2,"b":40}'],
    ["what is 2 + 40?", 'get-sum {"a":2,"b":40}'],
    ["please use get_sum on 3 and 4", 'get-sum {"a":3,"b":4}'],
    ["invoke the tool get-sum with a = 3, b = 4", 'get-sum {"a":3,"b":4}'],
    ["give me the logo picture", "get-tiny-image {}"],
    ["print the environment variables", "get-env {}"],
    ["get the structured content for New York", 'get-structured-content {"location":"New York"}'],
    [
      "start a long running operation of 2 seconds with 4 steps",
      'trigger-long-running-operation {"duration":2,"steps":4}',
    ],
    ["run the long operation, duration 1 steps 2", 'trigger-long-running-operation {"duration":1,"steps":2}'],
    ["do research on the history of tea", 'simulate-research-query {"topic":"the history of tea"}'],
    ["list the files here", 'list_directory {"path":"."}'],
    ["list files", 'list_directory {"path":"."}'],
    ["list the files in the docs folder", 'list_directory {"path":"docs"}'],
    ["read the file notes/a.txt", 'read_text_file {"path":"notes/a.txt"}'],
    ["read_file path=notes/a.txt", 'read_file {"path":"notes/a.txt"}'],
    ["Could you please read ~/notes.md for me?", 'read_text_file {"path":"~/notes.md"}'],
    ["read the first 5 lines of notes/a.txt", 'read_text_file {"path":"notes/a.txt","head":5}'],
    ["show me the last 20 lines of server.log", 'read_text_file {"path":"server.log","tail":20}'],
    ["read multiple files a.txt, b.txt", 'read_multiple_files {"paths":["a.txt","b.txt"]}'],
    ["write hello to notes/a.txt", 'write_file {"path":"notes/a.txt","content":"hello"}'],
    ["create a file b.md with content buy milk", 'write_file {"path":"b.md","content":"buy milk"}'],
    ["write_file path=a.txt content=hello world", 'write_file {"path":"a.txt","content":"hello world"}'],
    ["create a directory called foo", 'create_directory {"path":"foo"}'],
    ["rename old.md as new.md", 'move_file {"source":"old.md","destination":"new.md"}'],
    ["move to b.txt from a.txt", 'move_file {"source":"a.txt","destination":"b.txt"}'],
    ["search for *.ts files in src", 'search_files {"path":"src","pattern":"*.ts"}'],
    ['find files matching "TODO"', 'search_files {"path":".","pattern":"TODO"}'],
    ["show me the whole knowledge graph", "read_graph {}"],
    ["find nodes about the Acme project", 'search_nodes {"query":"the Acme project"}'],
    ["open nodes Alice, Bob", 'open_nodes {"names":["Alice","Bob"]}'],
    ['remove entity "Alice"', 'delete_entities {"entityNames":["Alice"]}'],
    [
      'create entities [{"name":"Alice","observations":["likes tea"]}]',
      'create_entities {"entities":[{"name":"Alice","observations":["likes tea"]}]}',
    ],
    ["git status", "git_status {}"],
    ["show the git log", "git_log {}"],
    ["log of the last 3 commits", 'git_log {"maxCount":3}'],
    ["git log for src/index.ts", 'git_log {"filePath":"src/index.ts"}'],
    ["stage src/a.ts and src/b.ts", 'git_add {"paths":["src/a.ts","src/b.ts"]}'],
    ['commit with message "amend the docs"', 'git_commit {"message":"amend the docs"}'],
    ["merge branch feature-x", 'git_merge {"branch":"feature-x"}'],
    ['create an issue titled "It breaks" in a/b', 'create_issue {"owner":"a","repo":"b","title":"It breaks"}'],
    ["query select 1", 'query {"sql":"select 1"}'],
    ["go to https://example.com", 'navigate {"url":"https://example.com"}'],
    ["resize the window to 800x600", 'resize_window {"width":800,"height":600}'],
    ["add a note titled Shopping with text buy milk", 'add_note {"title":"Shopping","text":"buy milk"}'],
    ["add a note Shopping: buy 2 eggs", 'add_note {"title":"Shopping","text":"buy 2 eggs"}'],
    ["show my notes", "list_notes {}"],
  ])("%s", (request, expected) => {
    expect(planned(request)).toEqual([expected]);
  });
});

describe("a request for several things", () => {
  test("is done step by step when each part is a call by itself", () => {
    expect(planned("add 2 and 3, then echo hi; show my notes")).toEqual([
      'get-sum {"a":2,"b":3}',
      'echo {"message":"hi"}',
      "list_notes {}",
    ]);
  });

  test.each(["echo hello then goodbye", 'echo "one; two, then three"'])("is one request otherwise: %s", (request) => {
    expect(planned(request)).toHaveLength(1);
  });
});

describe("a request that is no call", () => {
  test.each([
    "hello",
    "who are you?",
    "tell me a joke",
    "what is the capital of France?",
    "write a poem about the sea",
    "make me a sandwich",
    "how big is package.json?",
    "",
  ])("is told that nothing fits: %j", (request) => {
    expect(planned(request)).toEqual([`None of the tools fits that. There are ${all.length} tools:`]);
  });

  test("is not answered by a tool that does something else with the same things", () => {
    expect(planned("delete all notes", others)[0]).toContain("None of the tools fits that");
  });

  test("gets the tools it asks for, in the order they are offered, with the number of the rest", () => {
    const [step] = plan("which tools do you have?", all);
    const lines = step?.kind === "explain" ? step.text.split("\n") : [];
    expect(lines[0]).toBe(`There are ${all.length} tools:`);
    expect(lines[1]).toBe("- mcp__everything__echo: Echoes back the input string");
    expect(lines.filter((line) => line.startsWith("- mcp__"))).toHaveLength(20);
    expect(lines).toContain(`- and ${all.length - 20} more`);
  });

  test("is told when there are no tools at all", () => {
    expect(planned("add 2 and 3", [])[0]).toContain("There are no tools in this session");
  });

  test.each([
    ["read the file", "read_text_file", "- path: string", "For example: read_text_file path=notes.txt"],
    ["sum 5", "get-sum", "- b: number", "For example: get-sum a=5 b=1"],
    [
      "get the structured content",
      "get-structured-content",
      '- location: one of "New York", Chicago, "Los Angeles". Choose city',
      'For example: get-structured-content location="New York"',
    ],
    [
      "create an entity for Alice",
      "create_entities",
      "- entities: array",
      'For example: create_entities {"entities":[{"name":"some text","observations":["some text"]}]}',
    ],
  ])("is told which argument is missing: %s", (request, name, argument, example) => {
    const [step] = plan(request, all);
    const lines = step?.kind === "explain" ? step.text.split("\n") : [];
    expect(lines[0]).toBe(`I would use ${name}, but it needs one more argument:`);
    expect(lines).toContain(argument);
    expect(lines).toContain(example);
  });

  test("gives examples that would themselves be calls", () => {
    for (const request of ["read the file", "sum 5", "create an entity for Alice", "get the structured content"]) {
      const [step] = plan(request, all);
      const example = step?.kind === "explain" ? /^For example: (.*)$/m.exec(step.text)?.[1] : undefined;
      expect(plan(example ?? "", all).map(({ kind }) => kind)).toEqual(["call"]);
    }
  });

  test("is refused when it is too long to be matched, and says so", () => {
    expect(planned(`echo ${"x".repeat(60_000)}`)[0]).toContain("the offline model reads at most 50000");
  });
});
