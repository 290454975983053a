/** Starts the dashboard. */
import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { Router } from 'wouter-preact';
import './style.css';
import { BASE } from './address.js';
import { queryClient } from './api.js';
import { App } from './app.js';

// During an upgrade, files of this version may be gone: reload the page once.
addEventListener('vite:preloadError', (event) => {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  if (navigation?.type === 'reload') return;
  event.preventDefault();
  location.reload();
});

render(
  <QueryClientProvider client={queryClient}>
    <Router base={BASE}>
      <App />
    </Router>
  </QueryClientProvider>,
  document.getElementById('app')!,
);
