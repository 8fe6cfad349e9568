# docker build -t kafka-highwater . && docker run --rm -v "$PWD:/work" kafka-highwater check specs
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY . .
# Machine code for every processor that code can be made for here, and the trees of the gallery, so that the image
# compiles nothing, and learns nothing of a claim that comes with it.
RUN pip install --no-cache-dir . \
    && python -m highwater.explorer.kernels.making.ahead explorer/kernels/machine_code \
    && XDG_CACHE_HOME=/gallery python -m highwater check specs \
    && cp -r /gallery/highwater/trees-* explorer/search/trees \
    && pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM python:3.12-slim
COPY --from=wheel /wheel /wheel
RUN pip install --no-cache-dir /wheel/*.whl \
    && rm -r /wheel \
    && useradd --uid 1000 --create-home checker
USER 1000
WORKDIR /work
ENTRYPOINT ["highwater"]
CMD ["--help"]
