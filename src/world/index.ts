// The door of the world room.

export { currentFolder, httpPool, machineEnv, nodeWorld, stderrLog } from "./node.js";
export { type HttpServing, httpServing } from "./serve.js";
export { thread } from "./thread.js";
export { FileTrace } from "./trace.js";
export { Redactor } from "./trace-redact.js";
export { openWebSocket } from "./web-socket.js";
