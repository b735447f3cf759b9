// The demo server: what it remembers, and its tools as MCP clients see them.
import { type CallToolResult, McpServer, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import { calculate } from "./expression.js";
import type { FileArea } from "./file-area.js";
import { formatNotes, type Notebook } from "./notes.js";
import { COLOURS, drawPicture, SHAPES } from "./picture.js";
import { runSlowJob } from "./slow-job.js";

export interface DemoState {
  readonly notebook: Notebook;
  readonly files: FileArea;
  /** Rejects with the signal's reason when it aborts. */
  readonly pause: (delayMs: number, signal: AbortSignal) => Promise<void>;
}

const READS_ONLY = { readOnlyHint: true, openWorldHint: false };
const ADDS_ONLY = { readOnlyHint: false, destructiveHint: false, openWorldHint: false };

/** One server instance over shared state: the SDK asks for a fresh instance per connection, and once for a probe. */
export function createDemoServer(state: DemoState): McpServer {
  const server = new McpServer(
    { name: "tenon-demo", title: "Tenon demo", version: "1.0.0" },
    { instructions: "Notes, a calculator, a small file area, a slow job with progress, and pictures. All local." },
  );
  addNoteTools(server, state.notebook);
  addCalculator(server);
  addFileTools(server, state.files);
  addSlowJob(server, state.pause);
  addPicture(server);
  return server;
}

function addNoteTools(server: McpServer, notebook: Notebook): void {
  server.registerTool(
    "add_note",
    {
      title: "Add a note",
      description: "Adds a note to the notebook, which lives as long as this server runs.",
      inputSchema: z.object({ text: z.string().describe("The text of the note.") }),
      annotations: ADDS_ONLY,
    },
    ({ text }) => {
      const note = notebook.add(text);
      return says(`Saved note ${note.id}: ${note.text}`);
    },
  );
  server.registerTool(
    "list_notes",
    {
      title: "List notes",
      description: "Lists all notes of the notebook.",
      inputSchema: z.object({}),
      annotations: READS_ONLY,
    },
    () => says(notebook.all.length === 0 ? "There are no notes yet." : formatNotes(notebook.all)),
  );
  server.registerTool(
    "search_notes",
    {
      title: "Search notes",
      description: "Finds the notes that contain all the given words.",
      inputSchema: z.object({ query: z.string().describe("Words to look for.") }),
      annotations: READS_ONLY,
    },
    ({ query }) => {
      const found = notebook.search(query);
      return says(found.length === 0 ? `No note contains "${query}".` : formatNotes(found));
    },
  );
}

function addCalculator(server: McpServer): void {
  server.registerTool(
    "calculate",
    {
      title: "Calculate",
      description:
        "Computes an arithmetic expression, for example (2+3)*4: + - * / % ^, brackets, pi, e, sqrt, abs, round, floor, ceil, sin, cos, tan, ln, log, min, max.",
      inputSchema: z.object({ expression: z.string().describe("The arithmetic expression.") }),
      outputSchema: z.object({ expression: z.string(), value: z.number() }),
      annotations: { ...READS_ONLY, idempotentHint: true },
    },
    ({ expression }) => {
      const value = calculate(expression);
      return { ...says(`${expression.trim()} = ${value}`), structuredContent: { expression, value } };
    },
  );
}

function addFileTools(server: McpServer, files: FileArea): void {
  server.registerTool(
    "list_files",
    {
      title: "List files",
      description: "Lists the files of the file area with their sizes.",
      inputSchema: z.object({}),
      annotations: READS_ONLY,
    },
    async () => {
      const entries = await files.list();
      const lines = entries.map((entry) => `${entry.path} (${entry.bytes} bytes)`);
      return says(lines.length === 0 ? "The file area is empty." : lines.join("\n"));
    },
  );
  server.registerTool(
    "read_file",
    {
      title: "Read a file",
      description: "Reads a text file of the file area.",
      inputSchema: z.object({ path: z.string().describe("Path of the file inside the file area.") }),
      annotations: READS_ONLY,
    },
    async ({ path }) => says((await files.read(path)) || `"${path}" is empty.`),
  );
  server.registerTool(
    "write_file",
    {
      title: "Write a file",
      description: "Writes a text file into the file area; a file that is already there is replaced.",
      inputSchema: z.object({
        path: z.string().describe("Path of the file inside the file area."),
        content: z.string().describe("The whole new content of the file."),
      }),
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    async ({ path, content }) => says(`Wrote ${await files.write(path, content)} bytes to ${path}.`),
  );
}

function addSlowJob(server: McpServer, pause: DemoState["pause"]): void {
  server.registerTool(
    "slow_job",
    {
      title: "Run a slow job",
      description:
        "Runs a job that does nothing, slowly: it reports its progress after each step and can be cancelled.",
      inputSchema: z.object({
        steps: z.number().int().min(1).max(1_000).default(5).describe("How many steps the job has."),
        step_ms: z.number().int().min(0).max(60_000).default(300).describe("How long a step takes, in milliseconds."),
      }),
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    },
    async ({ steps, step_ms: stepMs }, context) => {
      const onProgress = (done: number, total: number) => sendProgress(context, done, total);
      const done = await runSlowJob({ steps, stepMs }, { signal: context.mcpReq.signal, pause, onProgress });
      return says(`The slow job is done: ${done} of ${steps} steps.`);
    },
  );
}

function addPicture(server: McpServer): void {
  server.registerTool(
    "draw_picture",
    {
      title: "Draw a picture",
      description: "Draws a shape in a colour and returns it as a PNG image.",
      inputSchema: z.object({
        shape: z.enum(SHAPES).default("circle").describe("The shape to draw."),
        colour: z.enum(COLOURS).default("blue").describe("The colour of the shape."),
        size: z.number().int().min(8).max(512).default(64).describe("Width and height of the picture in pixels."),
      }),
      annotations: { ...READS_ONLY, idempotentHint: true },
    },
    ({ shape, colour, size }) => {
      const data = drawPicture({ shape, colour, size }).toString("base64");
      const words = says(`A ${colour} ${shape}, ${size} x ${size} pixels.`);
      return { content: [...words.content, { type: "image", mimeType: "image/png", data }] };
    },
  );
}

function says(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

/** Only a client that asked for progress may be sent any. */
async function sendProgress(context: ServerContext, progress: number, total: number): Promise<void> {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  const message = `step ${progress} of ${total}`;
  await context.mcpReq.notify({
    method: "notifications/progress",
    params: { progressToken, progress, total, message },
  });
}
