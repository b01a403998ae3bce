import { styleNonce } from "./app/nonce.ts";
import "./styles/mantine.ts";
import "./styles/base.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./app/query-client.ts";
import { createPageRouter } from "./app/router.tsx";
import { theme } from "./styles/theme.ts";
import { Notices } from "./ui/Notices.tsx";

const root = document.getElementById("root");
if (!root) throw new Error("The document has no root.");
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => styleNonce}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={createPageRouter(queryClient)} />
        <Notices />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
