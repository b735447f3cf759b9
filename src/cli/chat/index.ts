// The door of the terminal client.
export { runChat } from "./chat.js";
export type { ChatOptions } from "./options.js";
export { toAcpServer } from "./servers.js";
