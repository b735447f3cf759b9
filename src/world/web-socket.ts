// Connects to a WebSocket server, over TCP, TLS or a unix socket. The package is loaded when first used.
import { connect } from "node:net";
import type { WebSocket as Socket } from "ws";
import { defined } from "../base/json/defined.js";
import {
  type OpenWebSocket,
  type WebSocketLink,
  type WebSocketListener,
  WebSocketRefusal,
  type WebSocketTarget,
} from "../base/ports/web-socket.js";

/** What is shown of a refusal's body. */
const REFUSAL_CHARS = 300;
/** For what was sent to leave before the connection ends. */
const CLOSE_MS = 1_000;

export const openWebSocket: OpenWebSocket = async (target, listener, signal) => {
  const { WebSocket: WebSocketClient } = await import("ws");
  signal.throwIfAborted();
  const { socketPath, headers, maxMessageBytes, connectMs } = target;
  const socket = new WebSocketClient(target.url, {
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    handshakeTimeout: connectMs,
    followRedirects: false,
    ...defined({
      headers: headers && { ...headers },
      // Errors of the connection are errors of the WebSocket.
      createConnection: socketPath === undefined ? undefined : () => connect(socketPath).on("error", () => {}),
    }),
  });
  await opened(socket, signal);
  return linked(socket, target, listener);
};

async function opened(socket: Socket, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      reject(signal.reason);
      socket.terminate();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const end = (settle: () => void) => {
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    socket.on("error", (error) => end(() => reject(error))); // for as long as it lives: after the first, nobody listens
    socket.once("open", () => end(resolve));
    socket.once("unexpected-response", (request, response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text = `${text}${chunk}`.slice(0, REFUSAL_CHARS);
      });
      const refuse = () => {
        request.destroy();
        end(() => reject(new WebSocketRefusal(response.statusCode ?? 0, text.trim())));
      };
      response.once("end", refuse);
      response.once("error", refuse);
      setTimeout(refuse, CLOSE_MS).unref();
    });
  });
}

function linked(socket: Socket, { pingMs }: WebSocketTarget, listener: WebSocketListener): WebSocketLink {
  let problem = "";
  let isHeard = true;
  const heard = () => {
    isHeard = true;
  };
  const pings = setInterval(() => {
    if (!isHeard && !socket.isPaused) {
      problem = `no sign of life for ${Math.round(pingMs / 1_000)} s`;
      socket.terminate();
      return;
    }
    isHeard = false;
    socket.ping();
  }, pingMs);
  pings.unref();
  socket.on("pong", heard);
  socket.on("ping", heard);
  socket.on("message", (data, isBinary) => {
    heard();
    // Messages come as one buffer unless `ws` is told otherwise.
    if (!isBinary && Buffer.isBuffer(data)) listener.onText(data.toString());
  });
  socket.on("error", (error) => {
    problem = error.message;
  });
  const closed = new Promise<void>((resolve) => {
    socket.once("close", (code, reason) => {
      clearInterval(pings);
      resolve();
      listener.onClosed(problem || reason.toString() || `closed with code ${code}`);
    });
  });
  return {
    send: (text) => {
      if (socket.readyState === socket.OPEN) socket.send(text);
    },
    get pendingBytes() {
      return socket.bufferedAmount;
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: async () => {
      const force = setTimeout(() => socket.terminate(), CLOSE_MS);
      socket.resume(); // a paused one would never hear the other side's close
      socket.close(1000);
      await closed;
      clearTimeout(force);
    },
  };
}
