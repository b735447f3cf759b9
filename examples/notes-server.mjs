// An MCP server over stdio without any package: notes in memory. The other examples start it as a process.
import { createInterface } from "node:readline";

const notes = [];
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const none = { type: "object", properties: {} };

const tools = {
  add_note: { description: "Adds a note.", inputSchema: text, run: (args) => `add_note kept ${notes.push(args.text)}` },
  list_notes: {
    description: "Lists all notes.",
    inputSchema: none,
    annotations: { readOnlyHint: true },
    run: () => `list_notes: ${notes.join(", ") || "none"}`,
  },
  delete_notes: {
    description: "Deletes all notes.",
    inputSchema: none,
    run: () => `deleted ${notes.splice(0).length}`,
  },
  crash: { description: "Ends the server.", inputSchema: none, run: () => process.exit(1) },
};

function answer({ method, params }) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "notes", version: "1.0.0" },
      };
    case "tools/list":
      return { tools: Object.entries(tools).map(([name, { run: _run, ...rest }]) => ({ name, ...rest })) };
    case "tools/call":
      return { content: [{ type: "text", text: tools[params.name].run(params.arguments ?? {}) }] };
    case "ping":
      return {};
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return; // a notification
  const result = answer(message);
  const reply = result ? { result } : { error: { code: -32601, message: `there is no ${message.method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, ...reply })}\n`);
});
