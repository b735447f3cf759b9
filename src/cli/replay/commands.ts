// How `tenon replay` is declared.
import { type Command, command, JSON_OPTION } from "../table/command.js";

export const REPLAY: Command = command({
  name: "replay",
  summary: "run a recorded session again and find the first difference",
  details: [
    "The file is one that `tenon acp --trace FILE` or `tenon chat --trace FILE` wrote. The agent of now is given what the client, the servers, the model and this machine said then, in that order, and what it sends is held against what it sent then.",
    "Nothing is started, nothing leaves the process and no file of yours is touched: Tenon's own tools are answered from the recording too.",
    "It exits with 0 when nothing differs, and with 1 at the first difference.",
  ],
  arguments: [{ name: "FILE", summary: "the recording", completes: "file" }],
  options: {
    run: { type: "string", value: "N", summary: "which run of the file, from 1; the last unless given" },
    json: JSON_OPTION,
  },
  examples: [
    { line: "tenon replay run.ndjson", does: "says where this version acts otherwise than the one that recorded it" },
  ],
  load: async () => (await import("./replay.js")).runReplay,
});
