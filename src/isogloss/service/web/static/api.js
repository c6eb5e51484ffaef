// Shows the OpenAPI document of the service with Swagger UI.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const adapt = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", adapt);
adapt();

const root = document.getElementById("swagger-ui");
SwaggerUIBundle({
  domNode: root,
  url: root.dataset.openapi,
  validatorUrl: null,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
});
